/** The cookies of one visitor. */
export class Cookies {
  private readonly values: Map<string, string>

  constructor(cookies?: Cookies) {
    this.values = new Map(cookies?.values)
  }

  /** The `Cookie` header, if there are any cookies. */
  get header(): { cookie?: string } {
    return this.values.size > 0 ? { cookie: [...this.values].map((pair) => pair.join('=')).join('; ') } : {}
  }

  /** Stores the cookies of a response, and removes expired ones (RFC 6265, section 5.3). */
  keep(headers: Headers): void {
    for (const cookie of headers.getSetCookie()) {
      const [pair = '', ...attributes] = cookie.split(';')
      const [, name = '', value = ''] = /^\s*([^=]+)=(.*)$/.exec(pair) ?? []
      if (attributes.some(isPast)) this.values.delete(name)
      else this.values.set(name, value)
    }
  }

  clear(): void {
    this.values.clear()
  }
}

function isPast(attribute: string): boolean {
  const [name = '', value = ''] = attribute.trim().split('=')
  if (name.toLowerCase() === 'max-age') return Number(value) <= 0
  return name.toLowerCase() === 'expires' && Date.parse(value) <= Date.now()
}
