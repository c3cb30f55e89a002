import { BoundedMap } from '../../common/memoize.js'
import type { QueryMessage } from '../../common/channels.js'

/** Parts of a statement that all engines read in the same way. Before a part that none matches, the text ends. */
const COMMON = [
  /(?<space>\s+|\/\*(?!M?!)(?:(?!\/\*|\*\/)[^])*\*\/)/,
  /(?<value>'(?:[^'\\]|'')*'|\d[\w.]*)/,
  /[\p{L}_][\p{L}\p{N}_]*/u,
  /[^'"`[\]\\$#\d\s/-]|\/(?!\*)|-(?!-)/,
]

/** The parts in which the engines differ: comments, quotes, placeholders and brackets. */
const OWN: Record<QueryMessage['engine'], RegExp[]> = {
  sqlite: [/(?<space2>--[^\n]*)/, /\?\d+|"(?:[^"\\]|"")*"|`[^`\\]*`|\[[^\]\\]*\]/],
  postgres: [/(?<space2>--[^\r\n]*)/, /"(?:[^"\\]|"")*"|\$\d+|[[\]#]/],
  mariadb: [
    /(?<space2>(?:--(?=[\s\p{Cc}]|$)|#)[^\n]*)/u,
    /(?<value2>"(?:[^"\\]|"")*")|`[^`\\]*`|--(?![\s\p{Cc}]|$)/u,
  ],
}

function patternOf(engine: QueryMessage['engine']): RegExp {
  return new RegExp([...OWN[engine], ...COMMON].map(({ source }) => source).join('|'), 'uy')
}

const PATTERNS = {
  sqlite: patternOf('sqlite'),
  postgres: patternOf('postgres'),
  mariadb: patternOf('mariadb'),
}

const masked = new BoundedMap<string>(500)

/** The length of a statement whose result is kept, and of the part that is read. */
const keptLength = 4000
const maxLength = 100_000

/**
 * Replaces the values in a statement by `?`: quoted texts and numbers. Comments are left out. The rest after something that
 * engines or their settings read in different ways is `…`.
 */
export function maskedSql(sql: string, engine: QueryMessage['engine']): string {
  const key = `${engine} ${sql}`
  const known = masked.get(key)
  if (known !== undefined) return known
  const text = mask(sql, PATTERNS[engine])
  if (sql.length <= keptLength) masked.set(key, text)
  return text
}

function mask(sql: string, pattern: RegExp): string {
  let text = ''
  pattern.lastIndex = 0
  while (pattern.lastIndex < sql.length) {
    const found = pattern.exec(sql)
    if (!found || pattern.lastIndex > maxLength) return `${text}…`
    const { space, space2, value, value2 } = found.groups ?? {}
    if (space !== undefined || space2 !== undefined)
      text = text.endsWith(' ') || text === '' ? text : `${text} `
    else text += value !== undefined || value2 !== undefined ? '?' : found[0]
  }
  return text.trimEnd()
}
