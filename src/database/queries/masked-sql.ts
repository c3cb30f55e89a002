import { BoundedMap } from '../../common/memoize.js'
import type { QueryMessage } from '../../common/channels.js'

/** Spaces, values and other parts that all engines read alike. `maskedSql` ends before any other part. */
const SPACE = /\s+|\/\*(?!M?!)(?:(?!\/\*|\*\/)[^])*\*\//
const VALUE = /'(?:[^'\\]|'')*'|\d[\w.]*/
const REST = /[\p{L}_][\p{L}\p{N}_]*|[^'"`[\]\\$#\d\s/-]|\/(?!\*)|-(?!-)/u

function patternOf({ source: comment }: RegExp, { source: value }: RegExp, { source: rest }: RegExp): RegExp {
  const values = `${VALUE.source}|${value}`
  return new RegExp(`(${SPACE.source}|${comment})|(${values})|${rest}|${REST.source}`, 'guy')
}

/** The engines differ in comments, quotes, placeholders and brackets. */
const PATTERNS: Record<QueryMessage['engine'], RegExp> = {
  sqlite: patternOf(/--[^\n]*/, VALUE, /\?\d+|"(?:[^"\\]|"")*"|`[^`\\]*`|\[[^\]\\]*\]/),
  postgres: patternOf(/--[^\r\n]*/, VALUE, /"(?:[^"\\]|"")*"|\$\d+|[[\]#]/),
  mariadb: patternOf(/(?:--(?=[\s\p{Cc}]|$)|#)[^\n]*/u, /"(?:[^"\\]|"")*"/, /`[^`\\]*`|--(?![\s\p{Cc}]|$)/u),
}

const masked = new BoundedMap<string>(500)

/**
 * Replaces the values in a statement by `?`: quoted strings and numbers. Comments are left out. From a part
 * on that engines or their settings read in different ways, the rest is `…`, as is everything after 100,000
 * characters.
 */
export function maskedSql(sql: string, engine: QueryMessage['engine']): string {
  const key = `${engine} ${sql}`
  let [text, end] = [masked.get(key) ?? '', 0]
  if (text !== '') return text
  for (const [part, space, value] of sql.slice(0, 100_000).matchAll(PATTERNS[engine])) {
    end += part.length
    if (space === undefined) text += value === undefined ? part : '?'
    else if (text !== '' && !text.endsWith(' ')) text += ' '
  }
  text = end < sql.length ? `${text}…` : text.trimEnd()
  // Long statements would fill the memory, and most of them are not sent twice.
  if (sql.length <= 4000) masked.set(key, text)
  return text
}
