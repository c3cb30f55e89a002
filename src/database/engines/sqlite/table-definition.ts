/** A part of a SQL statement: a space, comment, quoted name, text, a word or number, or another character. */
const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+|--[^\n]*\n?|/\*[\s\S]*?(?:\*/|$))`,
    String.raw`(?<name>"(?:[^"]|"")*"|\x60(?:[^\x60]|\x60\x60)*\x60|\[[^\]]*\])`,
    String.raw`(?<text>'(?:[^']|'')*')`,
    String.raw`(?<word>[\w$\u0080-\uffff]+)`,
    String.raw`(?<sign>[\s\S])`,
  ].join('|'),
  'g',
)

/** The words with which a constraint of a table begins. */
const OF_TABLE = ['CONSTRAINT', 'PRIMARY', 'UNIQUE', 'CHECK', 'FOREIGN']
/** The words with which a clause of a column begins, after its name and type. */
const OF_COLUMN = 'CONSTRAINT PRIMARY NOT NULL UNIQUE CHECK DEFAULT COLLATE REFERENCES GENERATED AS'.split(
  ' ',
)

interface Token {
  text: string
  /** The word in capitals, unless it is quoted. */
  word?: string
  isSpace: boolean
  /** The number of parentheses around it. The parentheses themselves count as within. */
  depth: number
}

/** A constraint of a table, or a clause of a column: `NOT NULL`, `COLLATE NOCASE` or `"id" integer`. */
export interface Clause {
  /** `PRIMARY`, `UNIQUE`, `CHECK`, `FOREIGN`, `NOT`, `NULL`, `DEFAULT`, `COLLATE`, `REFERENCES`, `AS`, ... */
  kind: string
  /** The name after CONSTRAINT. */
  name: string | undefined
  /** The columns in its first parentheses, if it lists some. */
  columns: string[]
  text: string
}

/** A column of a table: its name, its type, and its clauses. */
export interface ColumnDefinition {
  name: string
  clauses: Clause[]
}

/**
 * The statement CREATE TABLE of a table, as `sqlite_schema` keeps it, in parts that can be changed. All other
 * parts keep their text: collations, conflict clauses, comments and everything that TypeORM does not know.
 */
export class TableDefinition {
  readonly columns: ColumnDefinition[] = []
  readonly constraints: Clause[] = []
  private readonly beginning: string
  private readonly end: string

  /** @throws Error when the statement has no list of columns, as for a virtual table */
  constructor(sql: string) {
    const tokens = tokensOf(sql)
    const from = tokens.findIndex(({ depth }) => depth > 0)
    const to = tokens.findIndex(({ depth, text }, index) => index > from && depth === 1 && text === ')')
    if (from < 0 || to < 0 || !/^CREATE\s+(TEMP\w*\s+)?TABLE\b/i.test(sql))
      throw new Error(`SQLite keeps another statement than CREATE TABLE for the table: ${sql}`)
    this.beginning = textOf(tokens.slice(0, from + 1))
    this.end = textOf(tokens.slice(to))
    for (const item of split(tokens.slice(from + 1, to), ({ text, depth }) => text === ',' && depth === 1)) {
      if (OF_TABLE.includes(item.find(({ isSpace }) => !isSpace)?.word ?? '')) {
        this.constraints.push(...clausesOf(item, OF_TABLE))
      } else {
        this.columns.push(columnOf(item))
      }
    }
  }

  /** The column with a name, in any case. */
  column(name: string): ColumnDefinition | undefined {
    return this.columns.find((column) => isSameName(column.name, name))
  }

  /** The columns of the primary key. */
  get primaryKey(): string[] {
    return [...this.allConstraints()].find(({ kind }) => kind === 'PRIMARY')?.columns ?? []
  }

  /** Whether SQLite gives each new row a number that no row has had before. */
  get countsRows(): boolean {
    return this.columns.some(({ clauses }) => clauses.some(({ text }) => hasWord(text, 'AUTOINCREMENT')))
  }

  /** The names of the columns that store values. */
  get stored(): string[] {
    return this.columns
      .filter(({ clauses }) => !clauses.some(({ kind }) => kind === 'AS'))
      .map(({ name }) => name)
  }

  /** The checks, and the expressions of other columns, in which a column occurs. */
  usesOf(name: string): string[] {
    return [
      ...this.constraints,
      ...this.columns.flatMap((column) => (isSameName(column.name, name) ? [] : column.clauses)),
    ]
      .filter(({ kind, text }) => ['CHECK', 'AS', 'DEFAULT'].includes(kind) && hasName(text, name))
      .map(({ text }) => withoutComments(text))
  }

  /** Adds a constraint. */
  addConstraint(sql: string): void {
    this.constraints.push(...clausesOf(tokensOf(` ${sql}`), OF_TABLE))
  }

  /** Adds a column after the others, as TypeORM writes it. */
  addColumn(sql: string): void {
    this.columns.push(columnOf(tokensOf(` ${sql}`)))
  }

  /** The constraints of the table and of its columns, with the columns that they are about. */
  *allConstraints(): Generator<Clause> {
    yield* this.constraints
    for (const { name, clauses } of this.columns)
      for (const clause of clauses) yield { ...clause, columns: [name] }
  }

  /** Removes the constraints of the table, and the clauses of columns, for which a function returns true. */
  removeConstraints(isRemoved: (clause: Clause) => boolean): boolean {
    let found = remove(this.constraints, isRemoved)
    for (const { name, clauses } of this.columns)
      found = remove(clauses, (clause) => isRemoved({ ...clause, columns: [name] })) || found
    return found
  }

  /** The SQL statement. */
  toString(): string {
    const columns = this.columns.map(({ clauses }) => clauses.map(({ text }) => text).join(''))
    return `${this.beginning}${[...columns, ...this.constraints.map(({ text }) => text)].join(',')}${this.end}`
  }
}

/** Whether two names of SQLite are the same: it ignores the case of ASCII letters. */
export function isSameName(one: string, other: string): boolean {
  const lower = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  return lower(one) === lower(other)
}

/** Adds columns to the primary key of a table. */
export function addToPrimaryKey(definition: TableDefinition, columns: readonly string[]): void {
  const all = [...definition.primaryKey, ...columns]
  definition.removeConstraints(({ kind }) => kind === 'PRIMARY')
  if (all.length > 0) definition.addConstraint(`PRIMARY KEY (${all.map(quoted).join(', ')})`)
}

/**
 * Removes the keys and unique constraints that have a column, because SQLite does not drop such a column.
 * Other columns of the primary key remain in it.
 */
export function releaseColumn(definition: TableDefinition, name: string): void {
  const others = definition.primaryKey.filter((column) => !isSameName(column, name))
  const isKey = others.length < definition.primaryKey.length
  const hasColumn = ({ columns }: Clause): boolean => columns.some((column) => isSameName(column, name))
  const kinds = ['PRIMARY', 'UNIQUE', 'FOREIGN', 'REFERENCES']
  definition.removeConstraints((clause) => kinds.includes(clause.kind) && hasColumn(clause))
  if (isKey) addToPrimaryKey(definition, others)
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function hasWord(sql: string, word: string): boolean {
  return tokensOf(sql).some((token) => token.word === word)
}

function hasName(sql: string, name: string): boolean {
  return tokensOf(sql).some((token) => isSameName(nameOf(token), name))
}

/** The expression in the parentheses of a clause, such as CHECK or GENERATED ALWAYS AS. */
export function expressionOf({ text }: Clause): string {
  const tokens = tokensOf(text)
  const from = tokens.findIndex(({ depth }) => depth > 0)
  const to = tokens.findIndex(({ text, depth }, index) => index > from && depth === 1 && text === ')')
  return textOf(tokens.slice(from + 1, to)).trim()
}

/** Replaces the clause of a column with a kind, adds it, or removes it if there is no `sql`. */
export function setClause({ clauses }: ColumnDefinition, kind: string, sql: string | undefined): void {
  const index = clauses.findIndex((clause) => clause.kind === kind)
  if (sql === undefined) return void remove(clauses, (clause) => clause.kind === kind)
  const clause = { kind, name: undefined, columns: [], text: ` ${sql}` }
  if (index >= 0) clauses[index] = clause
  else clauses.splice(kind === 'TYPE' ? 1 : clauses.length, 0, clause)
}

function remove<T>(list: T[], isRemoved: (item: T) => boolean): boolean {
  const kept = list.filter((item) => !isRemoved(item))
  const found = kept.length < list.length
  list.splice(0, list.length, ...kept)
  return found
}

function tokensOf(sql: string): Token[] {
  let depth = 0
  return [...sql.matchAll(TOKEN)].map(({ 0: text, groups }) => {
    const isSpace = groups?.['space'] !== undefined
    if (text === '(') depth += 1
    const token = { text, isSpace, depth, ...(groups?.['word'] && { word: text.toUpperCase() }) }
    if (text === ')') depth -= 1
    return token
  })
}

function textOf(tokens: readonly Token[]): string {
  return tokens.map(({ text }) => text).join('')
}

function withoutComments(sql: string): string {
  return tokensOf(sql)
    .map(({ text, isSpace }) => (isSpace ? ' ' : text))
    .join('')
    .trim()
}

/** Splits a list at its separators, which are left out. */
function split(tokens: readonly Token[], isSeparator: (token: Token) => boolean): Token[][] {
  const parts: Token[][] = [[]]
  for (const token of tokens) {
    if (isSeparator(token)) parts.push([])
    else parts.at(-1)?.push(token)
  }
  return parts
}

function columnOf(item: Token[]): ColumnDefinition {
  const at = item.findIndex(({ isSpace }) => !isSpace)
  const name = nameOf(item[at])
  const named = { kind: 'NAME', name: undefined, columns: [], text: textOf(item.slice(0, at + 1)) }
  return { name, clauses: [named, ...clausesOf(item.slice(at + 1), OF_COLUMN)] }
}

/** Splits the clauses of a column, or the constraints of a table, which SQLite accepts without commas. */
function clausesOf(tokens: readonly Token[], beginnings: readonly string[]): Clause[] {
  const base = tokens[0]?.depth
  const words = tokens.filter(({ isSpace }) => !isSpace)
  const parts: { kind: string; tokens: Token[] }[] = []
  // A space belongs to what follows it.
  let space: Token[] = []
  for (const token of tokens) {
    space.push(token)
    if (token.isSpace) continue
    const { word = '', depth } = token
    const at = words.indexOf(token)
    const begins =
      depth === base &&
      beginnings.includes(word) &&
      !continues(words[at - 1]?.word, word, words[at + 1]?.word)
    const last = parts.at(-1)
    if (begins && last?.kind === 'CONSTRAINT') last.kind = kindOf(word)
    else if (begins) parts.push({ kind: kindOf(word), tokens: [] })
    else if (!last) parts.push({ kind: 'TYPE', tokens: [] })
    parts.at(-1)?.tokens.push(...space)
    space = []
  }
  parts.at(-1)?.tokens.push(...space)
  return parts.map(({ kind, tokens }) => clauseFrom(kind, tokens))
}

/** Whether a word belongs to the clause before: `NOT NULL`, `ON DELETE SET NULL`, `ALWAYS AS`. */
function continues(previous = '', word: string, next: string | undefined): boolean {
  if (word === 'NULL' || word === 'DEFAULT') return ['NOT', 'SET', 'DEFAULT'].includes(previous)
  return (word === 'AS' && previous === 'ALWAYS') || (word === 'NOT' && next === 'DEFERRABLE')
}

function kindOf(word: string): string {
  return word === 'GENERATED' ? 'AS' : word
}

function clauseFrom(kind: string, tokens: Token[]): Clause {
  const [first, second] = tokens.filter(({ isSpace }) => !isSpace)
  const inner = tokens.findIndex(({ text }) => text === '(')
  const depth = tokens[inner]?.depth ?? 0
  const list = tokens.slice(inner + 1, endOf(tokens, inner, depth))
  const columns = split(list, ({ text }) => text === ',').map((part) =>
    nameOf(part.find(({ isSpace }) => !isSpace)),
  )
  const hasColumns = inner >= 0 && ['PRIMARY', 'UNIQUE', 'FOREIGN'].includes(kind)
  return {
    kind,
    name: first?.word === 'CONSTRAINT' ? nameOf(second) : undefined,
    columns: hasColumns ? columns : [],
    text: textOf(tokens),
  }
}

function endOf(tokens: readonly Token[], from: number, depth: number): number {
  const end = tokens.findIndex((token, index) => index > from && token.text === ')' && token.depth === depth)
  return end < 0 ? tokens.length : end
}

/** A name without its quotes. */
function nameOf(token: Token | undefined): string {
  const { text = '' } = token ?? {}
  const quote = /^["`'[]/.exec(text)?.[0]
  if (quote === undefined) return text
  const inner = text.slice(1, -1)
  return quote === '[' ? inner : inner.replaceAll(quote + quote, quote)
}
