import { BadRequest, TooManyFields } from '../../errors.js'

/** The maximum length of a part's headers. */
const longest = 2048

/**
 * The boundary between the parts of a multipart body (RFC 2046, section 5.1.1).
 *
 * @throws BadRequest (400) when the content type has none, or one that is not allowed
 */
export function boundaryOf(contentType: string): string {
  const [, quoted, plain = ''] = /;\s*boundary=(?:"([^"]*)"|([^;\s]*))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (!/^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/.test(boundary))
    throw new BadRequest('The multipart body has no boundary, or one that is not allowed.')
  return boundary
}

/**
 * Creates a check of every chunk of a multipart body before it is parsed. It limits the parts and their headers, which cost
 * most to parse.
 *
 * @throws TooManyFields (413) when there are more delimiters, BadRequest (400) when the headers of a part are too long, or
 * it is not form-data
 */
export function partCheck(boundary: string, maxDelimiters: number): (chunk: Buffer) => void {
  const delimiter = `\r\n--${boundary}`
  // The first delimiter may be at the start of the body.
  let text = '\r\n'
  let isInHeaders = false
  let delimiters = 0

  return function check(chunk) {
    text += chunk.toString('latin1')
    for (;;) {
      const next = text.indexOf(delimiter)
      const part = next < 0 ? text : text.slice(0, next)
      if (isInHeaders) {
        const end = part.indexOf('\r\n\r\n')
        if ((end < 0 ? part.length : end) > longest)
          throw new BadRequest('The headers of a part are too long.')
        if (end >= 0) checkHeaders(part.slice(0, end))
        isInHeaders = end < 0
      }
      if (next < 0) break
      if (++delimiters > maxDelimiters) throw new TooManyFields()
      text = text.slice(next + delimiter.length)
      isInHeaders = true
    }
    if (!isInHeaders) text = text.slice(-delimiter.length)
  }
}

/**
 * Checks that a part has `Content-Disposition: form-data` (RFC 7578, section 4.2), and no line break within a header. The
 * parser skips other parts, and stops forever if a skipped part is longer than its buffer.
 */
function checkHeaders(headers: string): void {
  // After the last delimiter comes a text that is ignored.
  if (headers.startsWith('--')) return
  const [, disposition = ''] = /^content-disposition:(.*)$/im.exec(headers) ?? []
  const isFormData = /^[\t ]?form-data(?:;|$)/i.test(disposition)
  const hasLineBreak = /\r(?!\n)|(?<!\r)\n/.test(headers) || /\*[^*]*%0[ad]/i.test(headers)
  if (!isFormData || hasLineBreak)
    throw new BadRequest('A part of the multipart body is not valid form-data.')
}
