const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/** The plain text of a mail: its paragraphs, and the address of each link after its text. */
export function textOf(html: string): string {
  return html
    .replaceAll(/<(head|style|script)\b.*?<\/\1>/gis, '')
    .replaceAll(/<a\b[^>]*\bhref="([^"]*)"[^>]*>(.*?)<\/a>/gis, (_link, url: string, text: string) =>
      text.trim() === url ? url : `${text}: ${url}`,
    )
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/<br\s*\/?>/gi, '\n')
    .replaceAll(/<\/(p|h[1-6]|div|ul|ol|table)>/gi, '\n\n')
    .replaceAll(/<li\b[^>]*>/gi, '\n- ')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, character)
    .replaceAll(/ *\n */g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}

function character(entity: string, decimal?: string, hex?: string, name = ''): string {
  const code = decimal ? Number(decimal) : Number.parseInt(hex ?? '', 16)
  if (Number.isInteger(code) && code <= 0x10ffff) return String.fromCodePoint(code)
  return entities[name.toLowerCase()] ?? entity
}
