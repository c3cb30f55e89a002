/** The cookies of one visitor of one site. */
export class Cookies {
  private readonly values = new Map<string, string>()

  /** The header that sends them, if there are any. */
  get header(): { cookie?: string } {
    return this.values.size > 0 ? { cookie: [...this.values].map((pair) => pair.join('=')).join('; ') } : {}
  }

  /** Keeps what an answer sets, and drops what it takes back (RFC 6265, section 5.3). */
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
