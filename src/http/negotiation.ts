/** The formats of answers, in the order in which they are preferred where a client likes several equally. */
export const formats = ['html', 'json', 'xml'] as const

export type Format = (typeof formats)[number]

/** The media types that ask for a format. The first is that of the answer. */
const mediaTypes: Record<Format, readonly string[]> = {
  html: ['text/html', 'application/xhtml+xml'],
  json: ['application/json', 'application/problem+json'],
  xml: ['application/xml', 'text/xml', 'application/problem+xml'],
}

/** What the choice of a format depends on. */
export interface Preferences {
  /** The `Accept` header. */
  accept: string | undefined
  /** The format of the request's own body. */
  body: Format | undefined
  /** The application's own. */
  default: Format
}

/**
 * Chooses the format of an answer (RFC 9110, section 12.5.1; design, section 5).
 *
 * @param offered the formats that there are
 * @returns undefined when the client accepts none of them
 */
export function negotiate(offered: readonly Format[], preferences: Preferences): Format | undefined {
  const ranges = parseAccept(preferences.accept ?? '')
  if (ranges.every((range) => range.type === '*/*')) {
    if (ranges.length > 0 && ranges.every((range) => range.quality === 0)) return undefined
    const own = preferences.body === 'html' ? undefined : preferences.body
    return [own, preferences.default, ...formats].find((format) => format && offered.includes(format))
  }
  const ranked = formats
    .filter((format) => offered.includes(format))
    .map((format) => ({ format, quality: qualityOf(format, ranges) }))
    .filter(({ quality }) => quality > 0)
    .toSorted((a, b) => b.quality - a.quality)
  return ranked[0]?.format
}

interface Range {
  type: string
  quality: number
}

function parseAccept(header: string): Range[] {
  return header
    .split(',')
    .map((part) => part.split(';').map((piece) => piece.trim().toLowerCase()))
    .flatMap(([type, ...parameters]) => {
      if (!type) return []
      const weight = parameters.find((parameter) => parameter.startsWith('q='))
      const quality = weight === undefined ? 1 : Number(weight.slice(2))
      return { type, quality: Number.isFinite(quality) ? Math.min(Math.max(quality, 0), 1) : 0 }
    })
}

/** The quality of a format is that of its media types where they are named, else that of their group, else of any type. */
function qualityOf(format: Format, ranges: Range[]): number {
  const types = mediaTypes[format]
  const groups = types.map((type) => type.replace(/\/.*/, '/*'))
  const matching = [types, groups, ['*/*']].map((names) => ranges.filter(({ type }) => names.includes(type)))
  const mostSpecific = matching.find((found) => found.length > 0) ?? []
  return Math.max(0, ...mostSpecific.map(({ quality }) => quality))
}
