/** The engine whose rules apply. */
export type Engine = 'sqlite' | 'postgres' | 'mariadb'

/** A part of a statement. A `name` is quoted; a `text` is a string, which SQLite also takes for a name. */
export interface Token {
  kind: 'word' | 'name' | 'text' | 'sign'
  /** In lower case, without quotes. */
  text: string
  /** The content of the quotes, as it is. */
  source?: string
}

/** The forms of tokens, in the order in which they are tried. Comments and spaces have no group. */
const forms: Record<Engine, RegExp> = {
  sqlite: formOf({
    comment: /--[^\n]*|\/\*[^]*?(?:\*\/|$)/,
    name: /"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|\[([^\]]*)\]/,
    text: /'((?:[^']|'')*)'/,
  }),
  postgres: formOf({
    comment: /--[^\r\n]*/,
    name: /(?:u&)?"((?:[^"]|"")*)"/,
    text: /e'((?:[^'\\]|\\[^]|'')*)'|(?:u&|[bxn])?'((?:[^']|'')*)'|(\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$)/u,
  }),
  mariadb: formOf({
    // MariaDB runs the content of `/*! ... */`.
    comment: /--(?=[\s\p{Cc}]|$)[^\n]*|#[^\n]*|\/\*M?!\d*|\/\*(?!M?!)[^]*?(?:\*\/|$)|\*\//u,
    name: /`((?:[^`]|``)*)`|"((?:[^"\\]|\\[^]|"")*)"/,
    text: /'((?:[^'\\]|\\[^]|'')*)'/,
  }),
}

function formOf({ comment, name, text }: Record<'comment' | 'name' | 'text', RegExp>): RegExp {
  const [names, texts] = [name, text].map(({ source }) => source.replaceAll(/\((?!\?)/g, '(?:'))
  const parts = [`\\s+|${comment.source}`, `(?<name>${names})`, `(?<text>${texts})`]
  return new RegExp(`${parts.join('|')}|(?<word>[\\p{L}_][\\p{L}\\p{N}_$]*)|(?<sign>\\d+|[^])`, 'giuy')
}

/** The parts of a statement. */
export function tokensOf(sql: string, engine: Engine): Token[] {
  const tokens: Token[] = []
  const form = new RegExp(forms[engine])
  for (form.lastIndex = 0; form.lastIndex < sql.length;) {
    const start = form.lastIndex
    if (engine === 'postgres' && sql.startsWith('/*', start)) {
      form.lastIndex = endOfComment(sql, start)
      continue
    }
    const { name, text, word, sign } = form.exec(sql)?.groups ?? {}
    if (word !== undefined) tokens.push({ kind: 'word', text: word.toLowerCase() })
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign })
    else if (name !== undefined) {
      const source = unquote(name)
      tokens.push({ kind: 'name', text: source.toLowerCase(), source })
    } else if (text !== undefined) {
      const isDollar = text.endsWith('$')
      const end = isDollar ? sql.indexOf(text, form.lastIndex) : form.lastIndex
      const source = isDollar ? sql.slice(form.lastIndex, end < 0 ? sql.length : end) : unquote(text)
      if (isDollar) form.lastIndex = end < 0 ? sql.length : end + text.length
      tokens.push({ kind: 'text', text: source.toLowerCase(), source })
    }
  }
  return tokens
}

/** The end of a comment of PostgreSQL, which can contain others. */
function endOfComment(sql: string, start: number): number {
  let depth = 0
  for (const { 0: mark, index } of sql.slice(start).matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1
    if (depth === 0) return start + index + 2
  }
  return sql.length
}

/** The content of a quoted name or text. */
function unquote(quoted: string): string {
  const [, escape = '', quote = ''] = /^([a-z]|u&)?(["'`[])/i.exec(quoted) ?? []
  const content = quoted.slice(escape.length + 1, -1).replaceAll(quote + quote, quote)
  if (escape.toLowerCase() !== 'u&') return content
  return content.replaceAll(/\\(?:\+([\da-f]{6})|([\da-f]{4}))/gi, (_all, long?: string, short?: string) =>
    String.fromCodePoint(Number.parseInt(long ?? short ?? '', 16)),
  )
}
