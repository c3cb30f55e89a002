import { memoize } from '../../common/memoize.js'

/** The formats of responses. The first ones are preferred if a client accepts several equally. */
export const formats = ['html', 'json', 'xml'] as const

/** A format of responses. */
export type Format = (typeof formats)[number]

/** The media types of a format. The first one is that of the response. */
const mediaTypes: Record<Format, readonly string[]> = {
  html: ['text/html', 'application/xhtml+xml'],
  json: ['application/json', 'application/problem+json'],
  xml: ['application/xml', 'text/xml', 'application/problem+xml'],
}

/** The ranges that match a format, the most specific first: its media types, their groups, and everything. */
const specificities: Record<Format, readonly (readonly string[])[]> = {
  html: namesOf('html'),
  json: namesOf('json'),
  xml: namesOf('xml'),
}

function namesOf(format: Format): string[][] {
  const types = [...mediaTypes[format]]
  return [types, types.map(groupOf).filter((group) => format !== 'html' || group === 'text/*'), ['*/*']]
}

/** `application/json` -> `application/*`. Nobody means HTML by `application/*`, although XHTML is of that group. */
function groupOf(type: string): string {
  return type.replace(/\/.*/, '/*')
}

/** The preferences that determine the format. */
export interface Preferences {
  /** The `Accept` header. */
  accept: string | undefined
  /** The format of the request's own body. */
  body: Format | undefined
  /** The default format of the application. */
  default: Format
}

/**
 * Chooses the format of a response (RFC 9110, section 12.5.1; design, section 5).
 *
 * @param offered the formats that the handler offers
 * @returns undefined when the client accepts none of them
 */
export function negotiate(offered: readonly Format[], preferences: Preferences): Format | undefined {
  const { namesNone, refusesAll, qualities } = readAccept(preferences.accept ?? '')
  if (namesNone) {
    if (refusesAll) return undefined
    const own = preferences.body === 'html' ? undefined : preferences.body
    return [own, preferences.default, ...formats].find((format) => format && offered.includes(format))
  }
  let chosen: Format | undefined
  let best = 0
  for (const format of formats) {
    if (!offered.includes(format)) continue
    const quality = qualities[format]
    if (quality <= best) continue
    chosen = format
    best = quality
  }
  return chosen
}

/** The meaning of an `Accept` header for the formats. */
interface Acceptance {
  /** Whether it names neither a media type nor a group. */
  namesNone: boolean
  /** Whether each of its ranges is refused. */
  refusesAll: boolean
  qualities: Record<Format, number>
}

const readAccept = memoize((header): Acceptance => {
  const ranges = parseAccept(header)
  return {
    namesNone: ranges.every(({ type }) => type === '*/*'),
    refusesAll: ranges.length > 0 && ranges.every(({ quality }) => quality === 0),
    qualities: {
      html: qualityOf('html', ranges),
      json: qualityOf('json', ranges),
      xml: qualityOf('xml', ranges),
    },
  }
})

interface Range {
  type: string
  quality: number
}

function parseAccept(header: string): readonly Range[] {
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
function qualityOf(format: Format, ranges: readonly Range[]): number {
  for (const names of specificities[format]) {
    let best = -1
    for (const { type, quality } of ranges) if (quality > best && names.includes(type)) best = quality
    if (best >= 0) return best
  }
  return 0
}
