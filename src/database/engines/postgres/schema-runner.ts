import { Table, type TableColumn } from 'typeorm'
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js'
import { shortName } from '../../../naming/short-name.js'
import { readExpressions, reload } from '../schema-changes.js'

/**
 * TypeORM's query runner, except for changes of tables: the type of an enum is dropped with its table, is
 * never the old one with other values, and its name is not cut off. A generated column needs no table of
 * TypeORM.
 */
export class PostgresSchemaRunner extends PostgresQueryRunner {
  override async createTable(
    table: Table,
    ifNotExists = false,
    createForeignKeys = true,
    createIndices = true,
  ): Promise<void> {
    if (ifNotExists && (await this.hasTable(table))) return
    for (const column of table.columns) await this.rejectOtherValues(table, column)
    await super.createTable(table, false, createForeignKeys, createIndices)
  }

  override async addColumn(table: Table | string, column: TableColumn): Promise<void> {
    await this.rejectOtherValues(table, column)
    await super.addColumn(table, column)
  }

  override async dropTable(
    table: Table | string,
    ifExists = false,
    dropForeignKeys = true,
    dropIndices = true,
  ): Promise<void> {
    const path = this.getTablePath(table)
    const found = await this.getTable(path)
    await super.dropTable(table, ifExists, dropForeignKeys, dropIndices)
    for (const column of found?.columns ?? []) await this.dropEnumType(path, column)
  }

  override async dropColumn(
    table: Table | string,
    column: TableColumn | string,
    ifExists = false,
  ): Promise<void> {
    const path = this.getTablePath(table)
    const name = typeof column === 'string' ? column : column.name
    const found = (await this.getTable(path))?.findColumnByName(name)
    if (!found || !isEnum(found)) return super.dropColumn(table, column, ifExists)
    // TypeORM would drop the type, although other columns may use it.
    await super.dropColumn(table, Object.assign(found.clone(), { type: 'text' }), ifExists)
    await this.dropEnumType(path, found)
  }

  /** TypeORM would drop a column whose type changes, and with it all values. PostgreSQL converts them. */
  override async changeColumn(
    table: Table | string,
    column: TableColumn | string,
    wanted: TableColumn,
  ): Promise<void> {
    const path = this.getTablePath(table)
    const name = typeof column === 'string' ? column : column.name
    const found = (await this.getTable(path))?.findColumnByName(name)
    const changed = found ? withCollation(found, wanted) : wanted
    const isConverted =
      found && hasOtherType(found, changed) && !found.generatedType && !changed.generatedType
    if (!isConverted) return super.changeColumn(table, column, changed)
    const type = await this.newType(path, changed)
    const quoted = this.driver.escape(name)
    // A default of the old type might not fit the new one. A sequence of numbers fits.
    const value = found.isGenerated ? found.default : undefined
    const collation = changed.collation ? ` COLLATE "${changed.collation}"` : ''
    const changes = [
      ...(found.isGenerated ? [] : [`ALTER COLUMN ${quoted} DROP DEFAULT`]),
      `ALTER COLUMN ${quoted} TYPE ${type}${collation} ` +
        `USING ${quoted}${isEnum(changed) ? '::text' : ''}::${type}`,
    ]
    await this.query(`ALTER TABLE ${this.escapePath(table)} ${changes.join(', ')}`)
    await this.dropEnumType(path, found)
    const { type: to, enum: values, enumName, isArray, length } = changed
    const converted = {
      type: to,
      enum: values,
      enumName,
      isArray,
      length,
      default: value,
      collation: changed.collation,
    }
    await super.changeColumn(path, Object.assign(found.clone(), converted), changed)
    await reload(this, table, path)
  }

  /** PostgreSQL would cut a longer name off, so that two types can have the same name. */
  protected override buildEnumName(
    table: Table,
    column: TableColumn,
    withSchema = true,
    disableEscape = false,
    toOld = false,
  ): string {
    const enumName = toOld ? shortName(this.enumName(table, column), 59) : this.enumName(table, column)
    return super.buildEnumName(
      table,
      Object.assign(column.clone(), { enumName }),
      withSchema,
      disableEscape,
      toOld,
    )
  }

  /** The SQL of a column's new type, which is created if it is an enum. */
  private async newType(path: string, column: TableColumn): Promise<string> {
    if (!isEnum(column)) return this.driver.createFullType(column)
    await this.rejectOtherValues(path, column)
    const table = new Table({ name: path })
    const name = this.buildEnumName(table, column)
    if (!(await this.hasEnumType(table, column)))
      await this.query(this.createEnumTypeSql(table, column, name).query)
    return column.isArray ? `${name}[]` : name
  }

  private enumName(table: Table | string, column: TableColumn): string {
    const { tableName } = this.driver.parseTableName(table)
    return column.enumName ?? shortName(`${tableName}_${column.name.toLowerCase()}_enum`)
  }

  /** @throws Error when there is already a type with the name of a new enum, and with other values */
  private async rejectOtherValues(table: Table | string, column: TableColumn): Promise<void> {
    if (!isEnum(column)) return
    const name = this.enumName(table, column)
    const schema = this.driver.parseTableName(table).schema ?? null
    const [type]: { values: string[]; columns: string[] }[] = await this.query(ENUM_TYPE, [name, schema])
    if (!type || type.values.join('\n') === column.enum?.join('\n')) return
    const { columns, values } = type
    const remedy =
      columns.length > 0
        ? `${columns.join(' and ')} ${columns.length > 1 ? 'use' : 'uses'} it. ` +
          'Give the new type another name by the option enumName of the column.'
        : 'no column uses it: it is left from a table that was dropped without its types. ' +
          `Drop it before, by \`await runner.query('DROP TYPE "${name}"')\`.`
    throw new Error(
      `The database has a type "${name}" with other values (${values.join(', ')}), and ${remedy}`,
    )
  }

  /** Drops the type of an enum that TypeORM has created for its column, unless something else uses it. */
  private async dropEnumType(path: string, column: TableColumn): Promise<void> {
    if (!isEnum(column)) return
    const { tableName, schema } = this.driver.parseTableName(path)
    const own = `${tableName}_${column.name.toLowerCase()}_enum`
    // Earlier versions of the framework let PostgreSQL cut the name off.
    const name = column.enumName ?? shortName(own)
    if (name !== shortName(own) && name !== own.slice(0, 63)) return
    const [type]: { path: string }[] = await this.query(UNUSED_TYPE, [name, schema ?? null])
    if (type) await this.query(`DROP TYPE ${type.path}`)
  }
}

/** Whether TypeORM would drop the column. It changes the values of an enum itself. */
function hasOtherType(from: TableColumn, to: TableColumn): boolean {
  if (isEnum(from) && isEnum(to)) return false
  return from.type !== to.type || from.length !== to.length || from.isArray !== to.isArray
}

/** A text that becomes another text keeps its collation. PostgreSQL would choose that of the database. */
function withCollation({ collation }: TableColumn, to: TableColumn): TableColumn {
  const isText = /^(?:text|varchar|char|character|citext)\b/.test(to.type) && !to.isArray
  return isText && collation && !to.collation ? Object.assign(to.clone(), { collation }) : to
}

function isEnum({ type }: TableColumn): boolean {
  return type === 'enum' || type === 'simple-enum'
}

/** The expression of a generated column, which TypeORM reads from its own table, which need not exist. */
const EXPRESSION = `
  SELECT pg_get_expr(d.adbin, d.adrelid) AS value
  FROM pg_attribute a
  JOIN pg_class c ON c.oid = a.attrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE n.nspname = $1 AND c.relname = $2 AND a.attname = $3 AND a.attgenerated <> ''`

/** An enum's type: its values in their order, and the columns that use it. */
const ENUM_TYPE = `
  SELECT ARRAY(SELECT enumlabel::text FROM pg_enum WHERE enumtypid = t.oid ORDER BY enumsortorder) AS values,
    ARRAY(
      SELECT c.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      WHERE a.atttypid IN (t.oid, t.typarray) AND NOT a.attisdropped AND c.relkind IN ('r', 'p') ORDER BY 1
    ) AS columns
  FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
  WHERE t.typtype = 'e' AND t.typname = $1 AND n.nspname = coalesce($2, current_schema())`

/** An enum's type on which nothing depends except the type of its arrays. */
const UNUSED_TYPE = `
  SELECT quote_ident(n.nspname) || '.' || quote_ident(t.typname) AS path
  FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
  WHERE t.typtype = 'e' AND t.typname = $1 AND n.nspname = coalesce($2, current_schema())
    AND NOT EXISTS (
      SELECT 1 FROM pg_depend
      WHERE refclassid = 'pg_type'::regclass AND refobjid IN (t.oid, t.typarray) AND deptype IN ('n', 'a')
    )`

readExpressions(PostgresSchemaRunner, EXPRESSION)
