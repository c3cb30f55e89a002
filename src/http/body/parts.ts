import { BadRequest, TooManyFields } from '../../errors.js'

/** The maximum bytes of a part's headers. */
const maxHeadersLength = 2048

const crlf = Buffer.from('\r\n')
const [cr, lf, dash, space, tab] = [...'\r\n- \t'].map((it) => it.charCodeAt(0))

/** A part of a multipart form, as its headers describe it. */
export interface Part {
  /** The name of the field; undefined if the part has none. */
  name: string | undefined
  /** The name of the file without its folder; undefined if the part is a field. */
  filename: string | undefined
  /** The content type without parameters, `text/plain` by default. */
  type: string
  charset: string
  /** The value of `Content-Transfer-Encoding`. */
  encoding: string
}

/** Receives the parts of a form in order: each part, the pieces of its content, and its end. */
export interface PartReceiver {
  begin(part: Part): unknown
  content(piece: Buffer): unknown
  end(): unknown
}

/**
 * Returns the boundary between the parts of a multipart body (RFC 2046, section 5.1.1).
 *
 * @throws BadRequest (400) when the content type has no boundary, or one that is not allowed
 */
export function boundaryOf(contentType: string): string {
  const [, quoted, plain = ''] = /;\s*boundary=(?:"([^"]*)"|([^;\s]*))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (!/^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/.test(boundary))
    throw new BadRequest('The multipart body has no boundary, or one that is not allowed.')
  return boundary
}

/**
 * Splits a multipart form into its parts (RFC 7578). It requests a piece of the body when the receiver has
 * processed the previous one, and ends when the pieces end, whatever they contain.
 *
 * @param next returns the next piece of the body; undefined at its end
 * @throws TooManyFields (413) when there are more than `maxDelimiters`, BadRequest (400) when the body is
 *   malformed
 */
export async function readParts(
  next: () => Promise<Buffer | undefined>,
  boundary: string,
  maxDelimiters: number,
  receiver: PartReceiver,
): Promise<void> {
  const reader = new PartReader(next, boundary, maxDelimiters)
  await reader.readUntilDelimiter(0, () => {})
  while (!(await reader.readLineEnd())) {
    await receiver.begin(await reader.readHeaders())
    await reader.readUntilDelimiter(crlf.length, (piece) => receiver.content(piece))
    await receiver.end()
  }
  // Everything after the last delimiter is read and ignored.
  while (await next());
}

/** Reads a body piece by piece. */
class PartReader {
  private readonly delimiter: Buffer
  /** The bytes to read. They begin with the line break of a delimiter, which the first one lacks. */
  private data: Buffer = crlf
  private delimiters = 0

  constructor(
    private readonly next: () => Promise<Buffer | undefined>,
    boundary: string,
    private readonly maxDelimiters: number,
  ) {
    this.delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  }

  /** Removes the bytes before `start` from the data, and appends the next piece. */
  private async readMore(start = 0): Promise<void> {
    const piece = await this.next()
    if (!piece) throw new BadRequest('The multipart body is incomplete.')
    this.data = start < this.data.length ? Buffer.concat([this.data.subarray(start), piece]) : piece
  }

  /** Calls `pass` with the data from `start` to the next delimiter, and removes all up to its end. */
  async readUntilDelimiter(start: number, pass: (piece: Buffer) => unknown): Promise<void> {
    for (;;) {
      const found = this.data.indexOf(this.delimiter)
      // The end of the data may be the beginning of a delimiter.
      const end = found < 0 ? this.data.length - this.delimiter.length + 1 : found
      if (end > start) await pass(this.data.subarray(start, end))
      if (found >= 0) {
        if (found < start) throw new BadRequest('The content of a part begins with the boundary.')
        if (++this.delimiters > this.maxDelimiters) throw new TooManyFields()
        this.data = this.data.subarray(found + this.delimiter.length)
        return
      }
      const rest = Math.max(0, end)
      start = Math.max(0, start - rest)
      await this.readMore(rest)
    }
  }

  /** Removes the rest of a delimiter's line, but not its line break. Returns whether it was the last. */
  async readLineEnd(): Promise<boolean> {
    let end = 0
    for (;;) {
      while (this.data.length < end + 2) await this.readMore()
      if (end === 0 && this.data[0] === dash && this.data[1] === dash) return true
      if (this.data[end] === cr && this.data[end + 1] === lf) break
      if ((this.data[end] !== space && this.data[end] !== tab) || ++end > maxHeadersLength)
        throw new BadRequest('A boundary of the multipart body is followed by other text.')
    }
    this.data = this.data.subarray(end)
    return false
  }

  /** Removes the headers of a part, but not their last line break, with which a delimiter could begin. */
  async readHeaders(): Promise<Part> {
    let end: number
    while ((end = this.data.indexOf('\r\n\r\n')) < 0 && this.data.length <= maxHeadersLength)
      await this.readMore()
    if (end < 0 || end > maxHeadersLength) throw new BadRequest('The headers of a part are too long.')
    const lines = end === 0 ? [] : this.data.toString('utf8', crlf.length, end).split('\r\n')
    this.data = this.data.subarray(end + crlf.length)
    return partOf(headersOf(lines))
  }
}

/** @throws BadRequest (400) when a header is malformed or repeated */
function headersOf(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>()
  for (const line of lines) {
    // Control characters are not allowed, except tabs.
    // oxlint-disable-next-line no-control-regex
    const [, name = '', value = ''] = /^([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e\x80-\uffff]*)$/.exec(line) ?? []
    const key = name.toLowerCase()
    if (key === '' || headers.has(key))
      throw new BadRequest('A header of a multipart part is malformed or repeated.')
    headers.set(key, value.trim())
  }
  return headers
}

/** @throws BadRequest (400) when the part is not form-data, or an extended parameter is malformed */
function partOf(headers: Map<string, string>): Part {
  const disposition = headers.get('content-disposition') ?? ''
  if (!/^form-data[\t ]*(?:;|$)/i.test(disposition))
    throw new BadRequest('A part of the multipart body is not form-data.')
  const { name, filename } = parametersOf(disposition)
  const contentType = headers.get('content-type') ?? ''
  return {
    name,
    filename: filename?.replace(/^.*[/\\]/s, '').replace(/^\.\.?$/, ''),
    type: contentType.replace(/[\t ;].*/, '').toLowerCase() || 'text/plain',
    charset: parametersOf(contentType)['charset'] ?? 'utf-8',
    encoding: headers.get('content-transfer-encoding')?.toLowerCase() ?? '7bit',
  }
}

/**
 * The parameters of a header: `name="a"`, `name=a`, or `name*=utf-8''a` with a percent-encoded value, which
 * takes precedence. In quotes, a backslash escapes only a quote or a backslash.
 */
function parametersOf(header: string): Record<string, string | undefined> {
  const parameters: Record<string, string | undefined> = Object.create(null)
  const pattern = /;[\t ]*([^\s=;"]+)=(?:"((?:[^"\\]|\\["\\]|\\(?!["\\]))*)"|([^\s;"]*))/g
  for (const [, key = '', quoted, plain = ''] of header.matchAll(pattern)) {
    const value = quoted?.replaceAll(/\\(["\\])/g, '$1') ?? plain
    const name = key.toLowerCase()
    if (name.endsWith('*')) parameters[name.slice(0, -1)] = extendedValue(value)
    else parameters[name] ??= value
  }
  return parameters
}

/** @throws BadRequest (400) when the value of an extended parameter is malformed (RFC 8187) */
function extendedValue(value: string): string {
  const [, encoded = ''] = /^utf-8'[^']*'([^']*)$/i.exec(value) ?? []
  try {
    const decoded = decodeURIComponent(encoded)
    if (decoded !== '' && !/[\r\n]/.test(decoded)) return decoded
  } catch {
    // The percent-encoding is malformed, which is reported below.
  }
  throw new BadRequest('A parameter of a multipart header is malformed.')
}
