import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http'
import { memoize } from '../common/memoize.js'

type Value = OutgoingHttpHeader

/** The headers that `writeHead` accepts. */
type Given = OutgoingHttpHeaders | OutgoingHttpHeader[]

/** The number of header names whose lower-case spelling is cached. */
const maxNames = 500

const lowerCase = memoize((name) => name.toLowerCase(), maxNames)

/** Checks the name of a header once, and returns it in lower case. */
const validName = memoize((name) => {
  validateHeaderName(name)
  return name.toLowerCase()
}, maxNames)

/**
 * A response that keeps its headers as a list, which Node writes as it is. With Node's own store, a
 * dictionary, a show takes 10 % more CPU time.
 */
export class HeaderListResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  /** The names in lower case. */
  private names: string[] = []
  /** Each name, followed by its value. */
  private list: Value[] = []

  override setHeader(name: string, value: number | string | readonly string[]): this {
    // It is too late for headers, and Node's method throws the error for this.
    if (this.headersSent) return super.setHeader(name, value)
    const key = validName(name)
    validateHeaderValue(name, value as string)
    const index = this.names.indexOf(key)
    if (index < 0) {
      this.names.push(key)
      this.list.push(name, value as Value)
    } else {
      this.list[index * 2] = name
      this.list[index * 2 + 1] = value as Value
    }
    return this
  }

  override appendHeader(name: string, value: string | readonly string[]): this {
    if (this.headersSent) return super.appendHeader(name, value)
    const index = this.names.indexOf(validName(name))
    const previous = this.list[index * 2 + 1]
    if (index < 0 || previous === undefined) return this.setHeader(name, value)
    return this.setHeader(String(this.list[index * 2]), [previous, value].flat().map(String))
  }

  override getHeader(name: string): Value | undefined {
    const index = this.names.indexOf(lowerCase(name))
    return index < 0 ? undefined : this.list[index * 2 + 1]
  }

  override hasHeader(name: string): boolean {
    return this.names.includes(lowerCase(name))
  }

  override removeHeader(name: string): void {
    // Node's method notes the removal, so that Node does not add the header itself, such as Date.
    super.removeHeader(name)
    const index = this.names.indexOf(lowerCase(name))
    if (index < 0) return
    this.names.splice(index, 1)
    this.list.splice(index * 2, 2)
  }

  override getHeaders(): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = Object.create(null)
    for (const [index, name] of this.names.entries()) headers[name] = this.list[index * 2 + 1]
    return headers
  }

  override getHeaderNames(): string[] {
    return this.names.slice()
  }

  // Node's types only declare this method for requests.
  getRawHeaderNames(): string[] {
    return this.names.map((_name, index) => String(this.list[index * 2]))
  }

  override writeHead(statusCode: number, reason?: string | Given, headers?: Given): this {
    const given = typeof reason === 'string' ? headers : (headers ?? reason)
    if (typeof reason === 'string') this.statusMessage = reason
    if (this.names.length === 0 || this.headersSent) return super.writeHead(statusCode, given)
    if (given) this.setEach(given)
    // Node writes a list as it is, because its own store of headers is empty.
    return super.writeHead(statusCode, this.list)
  }

  /**
   * Takes a snapshot of the headers.
   *
   * @returns a function that restores them
   */
  snapshotHeaders(): () => void {
    const [names, list] = [this.names.slice(), this.list.slice()]
    return () => {
      this.names = names.slice()
      this.list = list.slice()
    }
  }

  private setEach(headers: Given): void {
    if (!Array.isArray(headers)) {
      for (const [name, value] of Object.entries(headers)) this.setHeader(name, value as string)
      return
    }
    for (let index = 0; index < headers.length; index += 2)
      this.setHeader(String(headers[index]), headers[index + 1] as string)
  }
}
