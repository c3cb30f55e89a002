/** The engine whose rules apply. */
export type Engine = 'sqlite' | 'postgres' | 'mariadb'

/** A table that a statement writes. */
export interface Target {
  /** The name without a schema, as `plainName` returns it. */
  table: string
  /** The kind of the write: `truncate` also empties the tables that refer to it. */
  kind: 'write' | 'delete' | 'truncate'
}

/** Comments of PostgreSQL contain others: here up to five, one in the other. */
function nestedComment(levels = 5): string {
  const inner = levels > 1 ? `|${nestedComment(levels - 1)}` : ''
  return `/\\*(?:[^*/]|\\*(?!/)|/(?!\\*)${inner})*\\*/`
}

/** The parts of a statement that are neither words nor signs: comments, which are a group, and quoted names and texts. */
const quotes: Record<Engine, RegExp> = {
  sqlite: /(--[^\n]*|\/\*[^]*?(?:\*\/|$))|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|'(?:[^']|'')*'/g,
  postgres: new RegExp(
    `(--[^\\r\\n]*|${nestedComment()})|(?:\\bu&)?"(?:[^"]|"")*"|\\be'(?:[^'\\\\]|\\\\[^]|'')*'|'(?:[^']|'')*'` +
      '|(?<![\\p{L}\\p{N}_$])\\$([\\p{L}\\p{N}_]*)\\$[^]*?\\$\\2\\$',
    'giu',
  ),
  // MariaDB runs the content of `/*! ... */`.
  mariadb: new RegExp(
    /(--(?=[\s\p{Cc}]|$)[^\n]*|#[^\n]*|\/\*M?!\d*|\/\*(?!M?!)[^]*?(?:\*\/|$)|\*\/)/u.source +
      /|`(?:[^`]|``)*`|"(?:[^"\\]|\\[^]|"")*"|'(?:[^'\\]|\\[^]|'')*'/.source,
    'gu',
  ),
}

/** The content of a quoted name or text. */
function contentOf(quoted: string): string {
  const [start = ''] = /^(?:\$.*?\$|(?:u&|e)?.)/iu.exec(quoted) ?? []
  if (start.startsWith('$')) return quoted.slice(start.length, -start.length)
  const quote = start.slice(-1)
  const content = quoted.slice(start.length, -1).replaceAll(quote + quote, quote)
  if (!/^u&/i.test(start)) return content
  return content.replaceAll(/\\(?:\+([\da-f]{6})|([\da-f]{4}))/gi, (_all, long?: string, short?: string) =>
    String.fromCodePoint(Number.parseInt(long ?? short ?? '', 16)),
  )
}

/** A name in lower case, in which a point stands for each character that needs quotes. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}_$]/gu, '·')
}

/** The tables whose rows SQL writes, in all of its statements. */
export function targetsOf(sql: string, engine: Engine): Target[] {
  const contents: string[] = []
  const unquoted = sql.replaceAll(quotes[engine], (part, comment?: string) => {
    if (comment !== undefined) return ' '
    contents.push(contentOf(part))
    // The quote tells the name from a word of SQL.
    return ` "${plainName(contents.at(-1) ?? '')} `
  })
  const words = unquoted.toLowerCase().match(/"?[\p{L}\p{N}_$·]+|\S/gu) ?? []
  // Only PostgreSQL runs several statements. Elsewhere, a semicolon is within the body of a trigger.
  const statements = words.join(' ').split(engine === 'postgres' ? ';' : /$/)
  return statements.flatMap((statement) => targetsIn(` ${statement.trim()} `, contents, engine))
}

/** Statements that write no rows, whatever words they contain. `ANALYZE` runs what it explains. */
const harmless = /^ (?:create|alter|drop|grant|revoke|(?:explain|describe|desc)(?!.* analyze )) /

/** A verb where a statement begins: neither a column of that name nor a function. `OR REPLACE` counts as REPLACE. */
const verb =
  /(?<=(?<! select|[.,]) )(?:update|(?:insert|delete|replace|merge|truncate|copy|load)(?! \())(?! or replace )(?= )/g

/** @param contents the quoted names and texts, some of which can be statements */
function targetsIn(statement: string, contents: readonly string[], engine: Engine): Target[] {
  if (harmless.test(statement)) return []
  const isNested = /^ (?:do|prepare|execute) /.test(statement)
  return [
    ...(isNested ? contents.flatMap((content) => targetsOf(content, engine)) : []),
    ...[...statement.matchAll(verb)].flatMap(({ 0: word, index }) =>
      targetsAfter(word, restOf(statement.slice(index + word.length + 1))),
    ),
  ]
}

/** Words between a verb and its table. */
const modifiers =
  /^(?:(?:or \S+|into|from|table|only|lateral|ignore|quick|delayed|low_priority|high_priority) )+/

/** Leaves out the queries in parentheses, and what is after the end. Tables can be in parentheses, too. */
function restOf(statement: string): string {
  let [rest, before] = [statement, '']
  while (rest !== before) {
    before = rest
    rest = rest.replaceAll(/\( (?:([^()]*) )?\)/g, (_all, inner = '?') =>
      /(?:^| )select /.test(inner) ? '?' : inner,
    )
  }
  return rest.replace(/ ?[);].*/, ' ').replace(modifiers, '')
}

/** The tables that are written by a verb and what follows it. */
function targetsAfter(word: string, rest: string): Target[] {
  if (word === 'update') return updatedIn(rest).map((table) => ({ table, kind: 'write' }))
  if (word === 'delete') return deletedIn(rest).map((table) => ({ table, kind: 'delete' }))
  if (word === 'truncate') {
    const kind = rest.includes(' cascade ') ? 'truncate' : 'delete'
    return tablesIn(rest).map(({ table }) => ({ table, kind }))
  }
  // `COPY contracts TO STDOUT` reads.
  if (word === 'copy' && !rest.includes(' from ')) return []
  const [first] = tablesIn(word === 'load' ? rest.replace(/.* into table /, '') : rest)
  const deletes = word === 'replace' || (word === 'merge' && rest.includes(' then delete '))
  return first ? [{ table: first.table, kind: deletes ? 'delete' : 'write' }] : []
}

/** The tables of an UPDATE whose columns are assigned: all of them, if a column does not name its table. */
function updatedIn(rest: string): string[] {
  const [, list, assigned = ''] =
    /^(?!set )(.*?) set (.*?)(?: (?:where|from|order|limit|returning) |$)/.exec(rest) ?? []
  if (list === undefined) return []
  const columns = assigned.split(' , ').filter((part) => part.includes(' = '))
  const owners = columns.map((part) => part.split(' = ')[0]?.split(' . ').at(-2)?.replace('"', ''))
  const tables = tablesIn(list)
  const isAny = tables.length === 1 || owners.includes(undefined)
  return tables
    .filter(({ table, alias }) => isAny || owners.includes(table) || owners.includes(alias))
    .map(({ table }) => table)
}

/** `DELETE a, b FROM ...` and `DELETE FROM a, b USING ...` name those whose rows are deleted, also by an alias. */
function deletedIn(rest: string): string[] {
  const [, named = '', joined = ''] =
    /^(.*?)(?: (?:from|using) (.*?))?(?: (?:where|order|limit|returning) | ?$)/.exec(rest) ?? []
  const tables = tablesIn(joined)
  return tablesIn(named).flatMap(({ table: name }) => [
    name,
    ...tables.filter(({ alias }) => alias === name).map(({ table }) => table),
  ])
}

/** The tables of a list with joins, each with the word after it, which can be an alias. */
function tablesIn(list: string): { table: string; alias: string | undefined }[] {
  return list.split(/ (?:,|(?:straight_)?join) /).flatMap((part) => {
    const [, table, alias] =
      /^(?:["\p{L}_]\S* \. )*(["\p{L}_]\S*)(?: as)?(?: (["\p{L}_]\S*))?/u.exec(part.replace(modifiers, '')) ??
      []
    return table === undefined ? [] : { table: table.replace('"', ''), alias: alias?.replace('"', '') }
  })
}
