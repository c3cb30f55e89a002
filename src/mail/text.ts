const entities = new Map(Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }))

const entityPattern = /&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi

/** Converts the HTML of a mail to plain text. A link's address follows its text, unless they are the same. */
export function toText(html: string): string {
  return html
    .replaceAll(/<(head|style|script)\b.*?<\/\1>/gis, '')
    .replaceAll(/<img\b[^>]*\balt="([^"]*)"[^>]*>/gi, '$1')
    .replaceAll(/<a\b[^>]*\bhref="([^"]*)"[^>]*>(.*?)<\/a>/gis, (_link, url: string, text: string) =>
      ['', url].includes(text.trim()) ? url : `${text}: ${url}`,
    )
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/<br\s*\/?>|<\/tr>/gi, '\n')
    .replaceAll(/<\/t[dh]>/gi, ' ')
    .replaceAll(/<\/(p|h[1-6]|div|ul|ol|table|blockquote)>/gi, '\n\n')
    .replaceAll(/<li\b[^>]*>/gi, '\n- ')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(entityPattern, decodeEntity)
    .replaceAll(/ *\n */g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}

/** Decodes the output of a plain text template, whose values Pug has escaped as in HTML. */
export function unescapeEntities(text: string): string {
  return text.replaceAll(entityPattern, decodeEntity).trim()
}

function decodeEntity(entity: string, decimal?: string, hex?: string, name = ''): string {
  const code = decimal ? Number(decimal) : Number.parseInt(hex ?? '', 16)
  if (code <= 0x10ffff && !isSurrogate(code)) return String.fromCodePoint(code)
  return entities.get(name.toLowerCase()) ?? entity
}

/** Whether a code is half of a character beyond U+FFFF, and no character by itself. */
function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff
}
