import { DeclarationError } from '../errors.js'

/** A virtual host whose labels may be parameters: `{tenant}.example.com`. */
export class HostPattern {
  private readonly labels: string[]

  /** @throws DeclarationError when the pattern isn't a host name */
  constructor(readonly pattern: string) {
    this.labels = pattern.toLowerCase().split('.')
    const malformed = this.labels.find((label) => !/^([a-z0-9-]+|\{[a-z_]\w*\})$/.test(label))
    if (malformed !== undefined) {
      throw new DeclarationError(`The host "${pattern}" is malformed. Write it like "{tenant}.example.com".`)
    }
  }

  /** The names of the parameters. */
  get params(): string[] {
    return this.labels.filter((label) => label.startsWith('{')).map((label) => label.slice(1, -1))
  }

  /** Returns the parameters in a host, whose port is ignored; undefined if the host does not match. */
  match(host: string): Record<string, string> | undefined {
    const values = host.toLowerCase().replace(/:\d+$/, '').split('.')
    if (values.length !== this.labels.length) return undefined
    const params: Record<string, string> = {}
    for (const [index, label] of this.labels.entries()) {
      const value = values[index]
      if (!value) return undefined
      if (label.startsWith('{')) params[label.slice(1, -1)] = value
      else if (label !== value) return undefined
    }
    return params
  }

  /** A host that the pattern matches, for examples. */
  get sample(): string {
    return this.labels.map((label) => (label.startsWith('{') ? 'sample' : label)).join('.')
  }
}
