import { Table } from 'typeorm'
import type { TableCheck, TableColumn, TableForeignKey, TableUnique } from 'typeorm'
import { BetterSqlite3QueryRunner } from 'typeorm/driver/better-sqlite3/BetterSqlite3QueryRunner.js'
import { readExpressions, reload } from '../schema-changes.js'
import { columnIsUsed, explainRejection, needsValue } from './rejected-changes.js'
import { definitionOf, rebuildTable } from './rebuild-table.js'
import {
  addToPrimaryKey,
  expressionOf,
  isSameName,
  releaseColumn,
  setClause,
  type Clause,
  type ColumnDefinition,
  type TableDefinition,
} from './table-definition.js'

/** A default that SQLite can add to existing rows. */
const CONSTANT = /^(?:null|true|false|[+-]?[\d.]+(?:e[+-]?\d+)?|x?'(?:[^']|'')*')$/i

/** A table, or its name. */
type TableName = Table | string

/**
 * TypeORM's query runner, except for changes of tables. TypeORM creates a new table for each of them, from
 * the parts of the schema that it knows, and loses all others. Here SQLite itself adds, renames and drops
 * columns. Other changes create the table again from its statement in `sqlite_schema`, in which only the
 * change is different, with its indexes and triggers.
 */
export class SqliteSchemaRunner extends BetterSqlite3QueryRunner {
  override addColumn(table: TableName, column: TableColumn): Promise<void> {
    return this.addColumns(table, [column])
  }

  override async addColumns(table: TableName, columns: TableColumn[]): Promise<void> {
    for (const column of columns) {
      if (canBeAdded(column)) {
        const sql = this.buildCreateColumnSql(column)
        await this.alter(table, `ADD COLUMN ${sql}`).catch((error: unknown) => {
          throw needsValue(error, nameOf(table), column.name)
        })
        continue
      }
      await rebuildTable(this, nameOf(table), (definition) => {
        const joinsKey = column.isPrimary && definition.primaryKey.length > 0
        definition.addColumn(this.buildCreateColumnSql(column, joinsKey))
        if (joinsKey) addToPrimaryKey(definition, [column.name])
        if (column.isUnique) definition.addConstraint(this.uniqueSql(table, { columnNames: [column.name] }))
      })
    }
    await reload(this, table, nameOf(table))
  }

  override async dropColumn(table: TableName, column: TableColumn | string, ifExists = false): Promise<void> {
    await this.dropColumns(table, [column], ifExists)
  }

  override async dropColumns(
    table: TableName,
    columns: (TableColumn | string)[],
    ifExists = false,
  ): Promise<void> {
    for (const column of columns) {
      const name = nameOf(column)
      const definition = await definitionOf(this, nameOf(table))
      if (!definition.column(name) && ifExists) continue
      requireColumn(definition, nameOf(table), name)
      // As on the other engines, the indexes and keys of a column are dropped with the column.
      for (const index of await this.indexesOf(nameOf(table), name))
        await this.query(`DROP INDEX ${this.driver.escape(index)}`)
      await rebuildTable(this, nameOf(table), (changed) => releaseColumn(changed, name))
      await this.alter(table, `DROP COLUMN ${this.driver.escape(name)}`).catch((error: unknown) => {
        throw columnIsUsed(error, definition, nameOf(table), name)
      })
    }
    await reload(this, table, nameOf(table))
  }

  override async renameTable(table: TableName, name: string): Promise<void> {
    await this.alter(table, `RENAME TO ${this.driver.escape(name)}`)
    if (table instanceof Table) table.name = name
    await reload(this, name, name)
  }

  override async renameColumn(
    table: TableName,
    column: TableColumn | string,
    renamed: TableColumn | string,
  ): Promise<void> {
    if (typeof renamed !== 'string') return this.changeColumn(table, column, renamed)
    requireColumn(await definitionOf(this, nameOf(table)), nameOf(table), nameOf(column))
    const [from, to] = [nameOf(column), renamed].map((name) => this.driver.escape(name))
    await this.alter(table, `RENAME COLUMN ${from} TO ${to}`)
    await reload(this, table, nameOf(table))
  }

  override async changeColumn(
    table: TableName,
    column: TableColumn | string,
    changed: TableColumn,
  ): Promise<void> {
    const name = nameOf(column)
    if (!isSameName(name, changed.name)) await this.renameColumn(table, name, changed.name)
    const current = (await this.getTable(nameOf(table)))?.columns.find((one) =>
      isSameName(one.name, changed.name),
    )
    await this.rebuild(table, (definition) => {
      const found = requireColumn(definition, nameOf(table), changed.name)
      if (current) this.change(definition, found, current, changed, nameOf(table))
    })
  }

  override async changeColumns(
    table: TableName,
    changes: { oldColumn: TableColumn; newColumn: TableColumn }[],
  ): Promise<void> {
    for (const { oldColumn, newColumn } of changes) await this.changeColumn(table, oldColumn, newColumn)
  }

  override async createPrimaryKey(table: TableName, columns: string[]): Promise<void> {
    await this.rebuild(table, (definition) => addToPrimaryKey(definition, columns))
  }

  override async dropPrimaryKey(table: TableName): Promise<void> {
    await this.rebuild(table, (definition) => definition.removeConstraints(({ kind }) => kind === 'PRIMARY'))
  }

  override async createUniqueConstraints(table: TableName, uniques: TableUnique[]): Promise<void> {
    await this.addConstraints(
      table,
      uniques.map((unique) => this.uniqueSql(table, unique)),
    )
  }

  override dropUniqueConstraint(
    table: TableName,
    unique: TableUnique | string,
    ifExists = false,
  ): Promise<void> {
    return this.dropConstraints(table, 'unique constraint', ['UNIQUE'], [unique], ifExists)
  }

  override dropUniqueConstraints(table: TableName, uniques: TableUnique[], ifExists = false): Promise<void> {
    return this.dropConstraints(table, 'unique constraint', ['UNIQUE'], uniques, ifExists)
  }

  override async createCheckConstraints(table: TableName, checks: TableCheck[]): Promise<void> {
    const { namingStrategy } = this.dataSource
    const constraints = checks.map(({ name, expression = '' }) => {
      const given = name ?? namingStrategy.checkConstraintName(nameOf(table), expression)
      return `CONSTRAINT ${this.driver.escape(given)} CHECK (${expression})`
    })
    await this.addConstraints(table, constraints)
  }

  override dropCheckConstraint(
    table: TableName,
    check: TableCheck | string,
    ifExists = false,
  ): Promise<void> {
    return this.dropConstraints(table, 'check constraint', ['CHECK'], [check], ifExists)
  }

  override dropCheckConstraints(table: TableName, checks: TableCheck[], ifExists = false): Promise<void> {
    return this.dropConstraints(table, 'check constraint', ['CHECK'], checks, ifExists)
  }

  override async createForeignKeys(table: TableName, keys: TableForeignKey[]): Promise<void> {
    await this.addConstraints(
      table,
      keys.map((key) => this.foreignKeySql(table, key)),
    )
  }

  override dropForeignKey(table: TableName, key: TableForeignKey | string, ifExists = false): Promise<void> {
    return this.dropConstraints(table, 'foreign key', ['FOREIGN', 'REFERENCES'], [key], ifExists)
  }

  override dropForeignKeys(table: TableName, keys: TableForeignKey[], ifExists = false): Promise<void> {
    return this.dropConstraints(table, 'foreign key', ['FOREIGN', 'REFERENCES'], keys, ifExists)
  }

  /** Reads tables as TypeORM does, with what it does not find: expressions, and names of keys. */
  protected override async loadTables(names?: string[]): Promise<Table[]> {
    const tables = await super.loadTables(names)
    for (const table of tables) {
      const columns = table.columns.filter(({ generatedType }) => generatedType)
      const definition = columns.length > 0 ? await definitionOf(this, table.name) : undefined
      for (const column of columns) {
        const clause = definition?.column(column.name)?.clauses.find(({ kind }) => kind === 'AS')
        if (clause) column.asExpression = expressionOf(clause)
      }
      // The column of an expression has no name.
      for (const index of table.indices) index.columnNames = index.columnNames.filter((name) => name !== null)
    }
    return tables
  }

  private addConstraints(table: TableName, constraints: readonly string[]): Promise<void> {
    return this.rebuild(table, (definition) => {
      for (const constraint of constraints) definition.addConstraint(constraint)
    })
  }

  /** Creates a table again from a changed statement. */
  private async rebuild(table: TableName, change: (definition: TableDefinition) => void): Promise<void> {
    await rebuildTable(this, nameOf(table), change)
    await reload(this, table, nameOf(table))
  }

  private async alter(table: TableName, change: string): Promise<void> {
    const name = nameOf(table)
    await this.query(`ALTER TABLE ${this.driver.escape(name)} ${change}`).catch((error: unknown) => {
      throw explainRejection(error, name)
    })
  }

  /** The indexes of `CREATE INDEX` that have a column. */
  private async indexesOf(table: string, column: string): Promise<string[]> {
    const rows: { name: string }[] = await this.query(
      `SELECT DISTINCT list.name FROM pragma_index_list(?) list, pragma_index_info(list.name) part
       WHERE list.origin = 'c' AND part.name = ? COLLATE NOCASE`,
      [table, column],
    )
    return rows.map(({ name }) => name)
  }

  private change(
    definition: TableDefinition,
    column: ColumnDefinition,
    from: TableColumn,
    to: TableColumn,
    table: string,
  ): void {
    const typeOf = (one: TableColumn): string => this.driver.createFullType(one).toLowerCase()
    if (typeOf(from) !== typeOf(to)) setClause(column, 'TYPE', this.driver.createFullType(to))
    if (from.isNullable !== to.isNullable) setClause(column, 'NOT', to.isNullable ? undefined : 'NOT NULL')
    if (textOf(from.default) !== textOf(to.default))
      setClause(column, 'DEFAULT', to.default == null ? undefined : `DEFAULT (${to.default})`)
    // TypeORM does not read a collation, so that a column without one keeps its collation.
    if (to.collation) setClause(column, 'COLLATE', `COLLATE ${to.collation}`)
    if (textOf(from.enum) !== textOf(to.enum)) setClause(column, 'CHECK', enumCheck(to))
    if (textOf(from.asExpression) !== textOf(to.asExpression) || from.generatedType !== to.generatedType)
      setClause(column, 'AS', generation(to))
    if (from.isPrimary !== to.isPrimary) changePrimaryKey(definition, to)
    if (from.isUnique === to.isUnique) return
    if (to.isUnique) definition.addConstraint(this.uniqueSql(table, { columnNames: [to.name] }))
    else definition.removeConstraints((clause) => clause.kind === 'UNIQUE' && hasColumns(clause, [to.name]))
  }

  private uniqueSql(table: TableName, { name, columnNames }: Pick<TableUnique, 'name' | 'columnNames'>) {
    const given = name ?? this.dataSource.namingStrategy.uniqueConstraintName(nameOf(table), columnNames)
    return `CONSTRAINT ${this.driver.escape(given)} UNIQUE (${this.list(columnNames)})`
  }

  private foreignKeySql(table: TableName, key: TableForeignKey): string {
    const { columnNames, referencedTableName, referencedColumnNames, onDelete, onUpdate, deferrable } = key
    key.name ??= this.dataSource.namingStrategy.foreignKeyName(
      nameOf(table),
      columnNames,
      this.getTablePath(key),
      referencedColumnNames,
    )
    return [
      `CONSTRAINT ${this.driver.escape(key.name)} FOREIGN KEY (${this.list(columnNames)})`,
      `REFERENCES ${this.driver.escape(referencedTableName)} (${this.list(referencedColumnNames)})`,
      ...(onDelete ? [`ON DELETE ${onDelete}`] : []),
      ...(onUpdate ? [`ON UPDATE ${onUpdate}`] : []),
      ...(deferrable ? [`DEFERRABLE ${deferrable}`] : []),
    ].join(' ')
  }

  private list(names: readonly string[]): string {
    return names.map((name) => this.driver.escape(name)).join(', ')
  }

  /** Removes constraints by their name, or, if SQLite knows none, by their columns or expression. */
  private async dropConstraints(
    table: TableName,
    what: string,
    kinds: readonly string[],
    constraints: readonly (TableUnique | TableCheck | TableForeignKey | string)[],
    ifExists: boolean,
  ): Promise<void> {
    const loaded = await this.getTable(nameOf(table))
    await this.rebuild(table, (definition) => {
      const all = [...definition.allConstraints()].filter(({ kind }) => kinds.includes(kind))
      for (const given of constraints) {
        const name = nameOf(given)
        // TypeORM has names for unique constraints that SQLite stores without one.
        const known = typeof given === 'string' ? loaded?.uniques.find((one) => one.name === name) : given
        const named = all.find((one) => one.name !== undefined && isSameName(one.name, name))
        const found = named ?? all.find((one) => one.name === undefined && known && isSame(one, known))
        if (!found && ifExists) continue
        if (!found) throw new Error(`The table "${nameOf(table)}" has no ${what} with the name "${name}".`)
        definition.removeConstraints((one) => one.text === found.text && hasColumns(one, found.columns))
      }
    })
  }
}

readExpressions(SqliteSchemaRunner)

function nameOf(thing: { name?: string } | string): string {
  return typeof thing === 'string' ? thing : (thing.name ?? '')
}

/** Whether SQLite adds the column to existing rows itself. */
function canBeAdded(column: TableColumn): boolean {
  const { isPrimary, isUnique, generatedType, asExpression, default: value } = column
  const isStored = asExpression !== undefined && generatedType === 'STORED'
  return !isPrimary && !isUnique && !isStored && (value == null || CONSTANT.test(String(value)))
}

/** @throws Error when the table has no such column */
function requireColumn(definition: TableDefinition, table: string, name: string): ColumnDefinition {
  const column = definition.column(name)
  if (!column) throw new Error(`The table "${table}" has no column "${name}".`)
  return column
}

/** A value that TypeORM may leave out, as text that can be compared. */
function textOf(value: unknown): string {
  return value == null ? '' : JSON.stringify(value)
}

/** The check of an enum's values, as TypeORM writes it. */
function enumCheck({ name, enum: values }: TableColumn): string | undefined {
  return (
    values && `CHECK( "${name}" IN (${values.map((value) => `'${value.replaceAll("'", "''")}'`).join(',')}) )`
  )
}

function generation({ asExpression, generatedType = 'VIRTUAL' }: TableColumn): string | undefined {
  return asExpression ? `AS (${asExpression}) ${generatedType}` : undefined
}

function changePrimaryKey(definition: TableDefinition, { name, isPrimary }: TableColumn): void {
  const others = definition.primaryKey.filter((column) => !isSameName(column, name))
  definition.removeConstraints(({ kind }) => kind === 'PRIMARY')
  addToPrimaryKey(definition, isPrimary ? [...others, name] : others)
}

function hasColumns({ columns }: Clause, names: readonly string[]): boolean {
  return (
    columns.length === names.length && names.every((name) => columns.some((one) => isSameName(one, name)))
  )
}

function isSame(clause: Clause, given: TableUnique | TableCheck | TableForeignKey): boolean {
  return clause.kind === 'CHECK'
    ? 'expression' in given && expressionOf(clause) === given.expression
    : hasColumns(clause, given.columnNames ?? [])
}
