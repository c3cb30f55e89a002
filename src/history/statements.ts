import { tokensOf, type Engine, type Token } from './tokens.js'

/** A table that a statement writes. */
export interface Target {
  /** The name without a schema, in lower case. */
  table: string
  /** The kind of the write: `truncate` also empties the tables that refer to it. */
  kind: 'write' | 'delete' | 'truncate'
}

/** Statements that write no rows, whatever words they contain. */
const harmless =
  /^(create|alter|drop|comment|grant|revoke|rename|reindex|pragma|analyze|lock|set|show|describe|desc)$/

/** Words after which INSERT, UPDATE, DELETE and REPLACE are not the beginning of a statement. */
const notBefore = new Set(['for', 'on', 'key', 'or', ',', '.', 'select'])

/** The tables whose rows SQL writes, in all of its statements. */
export function targetsOf(sql: string, engine: Engine): Target[] {
  return splitStatements(tokensOf(sql, engine), engine).flatMap((tokens) => targetsIn(tokens, engine))
}

/** Only PostgreSQL runs several statements. Elsewhere, a semicolon is within the body of a trigger. */
function splitStatements(tokens: readonly Token[], engine: Engine): Token[][] {
  if (engine !== 'postgres') return [[...tokens]]
  const parts: Token[][] = [[]]
  for (const token of tokens)
    if (token.text === ';' && token.kind === 'sign') parts.push([])
    else parts.at(-1)?.push(token)
  return parts
}

function targetsIn(tokens: readonly Token[], engine: Engine): Target[] {
  const words = new Reader(tokens)
  const first = words.wordAt(0)
  // `ANALYZE DELETE FROM t` runs the statement on MariaDB, and `EXPLAIN ANALYZE` on PostgreSQL.
  const runs = tokens.slice(0, 12).some(({ kind, text }) => kind === 'word' && text === 'analyze')
  if (first === 'explain' && !runs) return []
  // As does `SET STATEMENT ... FOR DELETE FROM t`.
  const isSet = first === 'set' && words.wordAt(1) === 'statement'
  if (isSet) return targetsIn(tokens.slice(words.indexOf('for', 2) + 1 || tokens.length), engine)
  if (harmless.test(first) && !(first === 'analyze' && engine === 'mariadb')) return []
  const inner = first === 'do' || first === 'prepare' || first === 'execute'
  const nested = inner
    ? tokens.flatMap(({ kind, text, source }) =>
        kind === 'word' || kind === 'sign' ? [] : targetsOf(source ?? text, engine),
      )
    : []
  return [...nested, ...tokens.flatMap((_token, at) => words.targetsAt(at, first))]
}

/** A table in a list of tables, and its alias. */
interface Reference {
  table: string
  alias: string
}

/** Words that follow a table, so that they are not its alias. */
const afterTable = new Set(
  (
    'as set where join inner left right cross natural straight_join full outer on using values value select returning order limit ' +
    'default from partition for use ignore force when table restart continue cascade restrict low_priority with indexed not ' +
    'overriding'
  ).split(' '),
)

class Reader {
  constructor(private readonly tokens: readonly Token[]) {}

  /** A word; an empty text if there is something else. */
  wordAt(at: number): string {
    const token = this.tokens[at]
    return token?.kind === 'word' ? token.text : ''
  }

  /** The targets of the statement that begins with a token. */
  targetsAt(at: number, first: string): Target[] {
    const word = this.wordAt(at)
    const before = this.tokens[at - 1]
    if (!isVerb(word) || (before?.source === undefined && notBefore.has(before?.text ?? ''))) return []
    if (word !== 'update' && this.tokens[at + 1]?.text === '(') return []
    if (word === 'update') return this.updated(at + 1)
    if (word === 'delete') return this.deleted(at + 1)
    if (word === 'truncate') return this.truncated(at + 1)
    if (word === 'copy') return first === 'copy' ? this.copied(at + 1) : []
    if (word === 'load') return first === 'load' ? this.loaded(at + 1) : []
    const merges = word === 'merge' && this.tokens.some((_, index) => this.isThenDelete(index))
    const [start, replaces] = this.skipModifiers(at + 1)
    const [table] = this.nameAt(start) ?? []
    const deletes = merges || replaces || word === 'replace'
    return table === undefined ? [] : [{ table, kind: deletes ? 'delete' : 'write' }]
  }

  /** The place of a word at or after a place; -1 if it is missing. */
  indexOf(word: string, from: number): number {
    return this.tokens.findIndex((_, at) => at >= from && this.wordAt(at) === word)
  }

  private isThenDelete(at: number): boolean {
    return this.wordAt(at) === 'then' && this.wordAt(at + 1) === 'delete'
  }

  /** The place after words such as INTO and IGNORE, and whether rows in the way are deleted: `OR REPLACE`. */
  private skipModifiers(start: number): [at: number, replaces: boolean] {
    let at = start
    while (modifiers.has(this.wordAt(at))) at += this.wordAt(at) === 'or' ? 2 : 1
    return [at, this.indexOf('replace', start) < at && this.indexOf('replace', start) >= 0]
  }

  /** A name such as `"main"."contracts"`, without what is before its last point. */
  private nameAt(start: number): [table: string, end: number] | undefined {
    let [at, name] = [start, this.tokens[start]]
    if (!name || name.kind === 'sign') return undefined
    while (this.tokens[at + 1]?.text === '.' && (this.tokens[at + 2]?.text ?? '*') !== '*') {
      at += 2
      name = this.tokens[at] ?? name
    }
    return [name.text, at + 1]
  }

  /** The tables of a list with joins, and where it ends: before one of some words, outside of parentheses. */
  private references(start: number, ends: readonly string[]): [list: Reference[], end: number] {
    const list: Reference[] = []
    let [at, depth, expected, inQuery] = [start, 0, true, Infinity]
    for (; at < this.tokens.length; at += 1) {
      const token = this.tokens[at]
      const word = this.wordAt(at)
      if (depth === 0 && (ends.includes(word) || token?.text === ';')) break
      if (token?.kind === 'sign' && token.text === '(') depth += 1
      if (token?.kind === 'sign' && token.text === ')') {
        if (depth === 0) break
        depth -= 1
        if (depth < inQuery) inQuery = Infinity
      }
      if (word === 'select') inQuery = Math.min(inQuery, depth)
      if (depth >= inQuery) continue
      if (word === 'join' || word === 'straight_join' || token?.text === ',') expected = true
      else if (expected && token?.kind !== 'sign' && !modifiers.has(word)) {
        const [table, end] = this.nameAt(at) ?? ['', at + 1]
        const aliasAt = this.wordAt(end) === 'as' ? end + 1 : end
        const alias = this.tokens[aliasAt]
        const hasAlias = alias && alias.kind !== 'sign' && !afterTable.has(this.wordAt(aliasAt))
        list.push({ table, alias: hasAlias ? alias.text : table })
        expected = false
        at = hasAlias ? aliasAt : end - 1
      }
    }
    return [list, at]
  }

  /** The tables of an UPDATE whose columns are assigned: all of them, if a column does not name its table. */
  private updated(start: number): Target[] {
    if (this.wordAt(start) === 'set') return []
    const [from, replaces] = this.skipModifiers(start)
    const [list, end] = this.references(from, ['set', 'where'])
    if (this.wordAt(end) !== 'set') return []
    const owners = list.length > 1 ? this.assignedOwners(end + 1) : undefined
    return list
      .filter(({ alias }) => !owners || owners.has(alias))
      .map(({ table }) => ({ table, kind: replaces ? 'delete' : 'write' }))
  }

  /** The tables that assignments name; undefined if one names none. */
  private assignedOwners(start: number): Set<string> | undefined {
    const owners = new Set<string>()
    let [depth, expected] = [0, true]
    for (let at = start; at < this.tokens.length; at += 1) {
      const { kind, text = '' } = this.tokens[at] ?? {}
      if (depth === 0 && ['where', 'order', 'limit', 'returning'].includes(this.wordAt(at))) break
      if (kind === 'sign') depth += text === '(' ? 1 : text === ')' ? -1 : 0
      if (depth < 0) break
      if (expected) {
        const [, end] = this.nameAt(at) ?? [text, at + 1]
        if (end - at < 3) return undefined
        owners.add(this.tokens[end - 3]?.text ?? '')
        expected = false
        at = end - 1
      } else if (depth === 0 && text === ',') expected = true
    }
    return owners
  }

  private deleted(start: number): Target[] {
    let at = start
    while (modifiers.has(this.wordAt(at))) at += 1
    // `DELETE a, b FROM ...` and `DELETE FROM a, b USING ...` name those whose rows are deleted.
    const [named, end] = this.references(at, ['from', 'using', 'where', 'returning', 'order', 'limit'])
    const word = this.wordAt(end)
    const isList = word === 'from' || word === 'using'
    const [tables] = isList
      ? this.references(end + 1, ['where', 'order', 'limit', 'returning'])
      : [[] as Reference[]]
    return named.flatMap(({ table }) => {
      const meant = tables.filter(({ alias }) => alias === table)
      const names = meant.length > 0 ? meant.map((reference) => reference.table) : [table]
      return names.map((name): Target => ({ table: name, kind: 'delete' }))
    })
  }

  private truncated(start: number): Target[] {
    const [list, end] = this.references(start, ['restart', 'continue', 'cascade', 'restrict'])
    const cascades = this.tokens.slice(end).some(({ text }) => text === 'cascade')
    return list.map(({ table }) => ({ table, kind: cascades ? 'truncate' : 'delete' }))
  }

  /** `COPY contracts FROM STDIN` */
  private copied(start: number): Target[] {
    const [table, end] = this.nameAt(start) ?? ['', start]
    const from = this.tokens.findIndex(({ text }, at) => at >= end && (text === 'from' || text === 'to'))
    return this.wordAt(from) === 'from' ? [{ table, kind: 'write' }] : []
  }

  /** `LOAD DATA INFILE 'file' REPLACE INTO TABLE contracts` */
  private loaded(start: number): Target[] {
    const [into] = this.skipModifiers(this.indexOf('into', start))
    const [table] = this.nameAt(into) ?? []
    return table === undefined ? [] : [{ table, kind: 'delete' }]
  }
}

const verbs = new Set('insert update delete replace merge truncate copy load'.split(' '))

function isVerb(word: string): boolean {
  return verbs.has(word)
}

/** Words between a verb and its table. */
const modifiers = new Set(
  'or into ignore low_priority delayed high_priority only quick from table lateral'.split(' '),
)
