import { memoize } from '../../common/memoize.js'
import { dataFormats, formatOfType, formats, type FormatName } from './formats.js'

/** The ranges of `Accept` of each format, the most specific first: its types, their groups, and all. */
const specificities = byFormat((name) => {
  // `application/*` belongs to XHTML, too, but clients do not mean HTML by it.
  if (name === 'html') return [['text/html', 'application/xhtml+xml'], ['text/*'], ['*/*']]
  const { mediaTypes, problemType } = dataFormats[name]
  // The problems of a format like CSV may be JSON, but clients do not mean CSV by `application/problem+json`.
  const types = formatOfType(problemType) === name ? [...mediaTypes, problemType] : mediaTypes
  return [types, types.map((type) => type.replace(/\/.*/, '/*')), ['*/*']]
})

function byFormat<T>(valueOf: (name: FormatName) => T): Record<FormatName, T> {
  return Object.fromEntries(formats.map((name) => [name, valueOf(name)])) as Record<FormatName, T>
}

/** The preferences that determine the format. */
export interface Preferences {
  /** The `Accept` header. */
  accept: string | undefined
  /** The format of the request's own body. */
  body: FormatName | undefined
  /** The default format of the application. */
  default: FormatName
}

/**
 * Chooses the format of a response (RFC 9110, section 12.5.1). A client that names no media type receives the
 * format of its own body, else the default format.
 *
 * @param offered the formats that the handler offers
 * @returns undefined when the client accepts none of the offered formats
 */
export function negotiate(offered: readonly FormatName[], preferences: Preferences): FormatName | undefined {
  const { namesNone, refusesAll, qualities } = readAccept(preferences.accept ?? '')
  if (namesNone) {
    if (refusesAll) return undefined
    return [preferences.body, preferences.default, ...formats].find((it) => it && offered.includes(it))
  }
  let chosen: FormatName | undefined
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
  /** Whether it names neither a media type nor a group: it is empty or has `*` ranges only. */
  namesNone: boolean
  /** Whether each of its ranges has the quality 0. */
  refusesAll: boolean
  /** From 0 (not accepted) to 1. */
  qualities: Record<FormatName, number>
}

const readAccept = memoize((header): Acceptance => {
  const ranges = parseAccept(header)
  return {
    namesNone: ranges.every(({ type }) => type === '*/*'),
    refusesAll: ranges.length > 0 && ranges.every(({ quality }) => quality === 0),
    qualities: byFormat((name) => qualityOf(name, ranges)),
  }
})

interface Range {
  type: string
  quality: number
}

/** The maximum number of ranges that are read, so that a long header costs little. Browsers send few. */
const maxRanges = 200

/** Parses an `Accept` header. A range without a quality has 1, and one with a malformed quality has 0. */
export function parseAccept(header: string): readonly Range[] {
  return header
    .split(',', maxRanges)
    .map((part) => part.split(';').map((piece) => piece.trim().toLowerCase()))
    .flatMap(([type, ...parameters]) => {
      if (!type) return []
      const weight = parameters.find((parameter) => parameter.startsWith('q='))
      const quality = weight === undefined ? 1 : Number(weight.slice(2))
      return { type, quality: Number.isFinite(quality) ? Math.min(Math.max(quality, 0), 1) : 0 }
    })
}

/** Returns the quality of a format's media types in the header, else of their group, of all types, or 0. */
function qualityOf(format: FormatName, ranges: readonly Range[]): number {
  for (const names of specificities[format]) {
    let best = -1
    for (const { type, quality } of ranges) if (quality > best && names.includes(type)) best = quality
    if (best >= 0) return best
  }
  return 0
}
