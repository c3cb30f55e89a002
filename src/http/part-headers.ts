const longest = 2048

/**
 * Makes a check that every chunk of a multipart body goes through: whether the headers of its parts are short.
 * formidable searches them with patterns that take the square of their length; 1 MiB would keep the process busy for minutes.
 */
export function partHeaderCheck(contentType: string): (chunk: Buffer) => boolean {
  const [, quoted, plain = ''] = /boundary=(?:"([^"]+)"|([^;]+))/i.exec(contentType) ?? []
  const delimiter = `--${quoted ?? plain}`
  let isInHeaders = false
  let text = ''

  return function areShort(chunk) {
    text += chunk.toString('latin1')
    for (;;) {
      const end = isInHeaders ? '\r\n\r\n' : delimiter
      const position = text.indexOf(end)
      if (isInHeaders && (position < 0 ? text.length : position) > longest) return false
      if (position < 0) break
      text = text.slice(position + end.length)
      isInHeaders = !isInHeaders
    }
    if (!isInHeaders) text = text.slice(-delimiter.length)
    return true
  }
}
