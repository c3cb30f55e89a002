import { BoundedMap } from '../../common/memoize.js'
import type { QueryMessage } from '../../common/channels.js'

/** The parts of a statement: what becomes a space, the values, and the rest. Before a part that none matches, the text ends. */
function patternOf(comment: RegExp, value: RegExp, other: RegExp): RegExp {
  const spaces = [/\s+|\/\*(?!M?!)(?:(?!\/\*|\*\/)[^])*\*\//, comment]
  const values = [/'(?:[^'\\]|'')*'|\d[\w.]*/, value]
  const others = [other, /[\p{L}_][\p{L}\p{N}_]*|[^'"`[\]\\$#\d\s/-]|\/(?!\*)|-(?!-)/u]
  const [space, hidden, shown] = [spaces, values, others].map((parts) =>
    parts.map(({ source }) => source).join('|'),
  )
  return new RegExp(`(${space})|(${hidden})|${shown}`, 'guy')
}

const NOTHING = /(?!)/

/** The engines differ in comments, quotes, placeholders and brackets. */
const PATTERNS: Record<QueryMessage['engine'], RegExp> = {
  sqlite: patternOf(/--[^\n]*/, NOTHING, /\?\d+|"(?:[^"\\]|"")*"|`[^`\\]*`|\[[^\]\\]*\]/),
  postgres: patternOf(/--[^\r\n]*/, NOTHING, /"(?:[^"\\]|"")*"|\$\d+|[[\]#]/),
  mariadb: patternOf(/(?:--(?=[\s\p{Cc}]|$)|#)[^\n]*/u, /"(?:[^"\\]|"")*"/, /`[^`\\]*`|--(?![\s\p{Cc}]|$)/u),
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
  let [text, end] = ['', 0]
  for (const [part, space, value] of sql.slice(0, maxLength).matchAll(pattern)) {
    end += part.length
    if (space === undefined) text += value === undefined ? part : '?'
    else if (text !== '' && !text.endsWith(' ')) text += ' '
  }
  return end < sql.length ? `${text}…` : text.trimEnd()
}
