import type { Table, TableColumn } from 'typeorm'
import { MysqlQueryRunner } from 'typeorm/driver/mysql/MysqlQueryRunner.js'
import { readExpressions, reload } from './schema-changes.js'

/**
 * TypeORM's query runner, except for changes of tables: a column is changed in place and keeps its values,
 * and a generated column needs no table of TypeORM. `queries/publish.ts` replaces the `query` method of this
 * class, so that TypeORM's class is unchanged.
 */
export class MariadbRunner extends MysqlQueryRunner {
  /**
   * Drops a column with its indexes. The unique indexes that it shares with other columns are dropped, too,
   * as on the other engines. All of it is one statement, because MariaDB cannot roll back an earlier one.
   */
  override async dropColumn(
    table: Table | string,
    column: TableColumn | string,
    ifExists?: boolean,
  ): Promise<void> {
    const name = typeof column === 'string' ? column : column.name
    const found = (await this.getTable(this.getTablePath(table)))?.findColumnByName(name)
    if (!found || found.isPrimary) return super.dropColumn(table, column, ifExists)
    const { tableName } = this.driver.parseTableName(table)
    const indexes: { name: string }[] = await this.query(SHARED_UNIQUE, [tableName, name])
    const changes = [
      ...indexes.map((index) => `DROP INDEX ${this.driver.escape(index.name)}`),
      `DROP COLUMN ${this.driver.escape(name)}`,
    ]
    const statement = `ALTER TABLE ${this.escapePath(table)} ${changes.join(', ')}`
    await this.query(statement).catch((error: unknown) => this.explainUse(error, tableName, name))
    await reload(this, table, this.getTablePath(table))
  }

  /**
   * Changes a column in place. TypeORM would drop one whose type or length changes, and with it all values,
   * and lose a check that belongs to the column.
   */
  override async changeColumn(
    table: Table | string,
    column: TableColumn | string,
    changed: TableColumn,
  ): Promise<void> {
    const name = typeof column === 'string' ? column : column.name
    const path = this.getTablePath(table)
    const found = (await this.getTable(path))?.findColumnByName(name)
    const isPlain = ({ generatedType, isGenerated, isPrimary }: TableColumn): boolean =>
      !generatedType && !isGenerated && !isPrimary
    if (!found || !isPlain(found) || !isPlain(changed)) return super.changeColumn(table, column, changed)

    const { tableName } = this.driver.parseTableName(table)
    const alter = `ALTER TABLE ${this.escapePath(table)}`
    if (name !== changed.name) {
      const names = [name, changed.name].map((one) => this.driver.escape(one))
      await this.query(`${alter} RENAME COLUMN ${names.join(' TO ')}`).catch((error: unknown) =>
        this.explainUse(error, tableName, name, 'rename'),
      )
    }
    const before = Object.assign(found.clone(), { name: changed.name })
    const after = changed.clone()
    if (before.type === after.type) after.collation ??= before.collation
    after.comment ??= before.comment
    const [old, definition] = [before, after].map((one) => this.buildCreateColumnSql(one, true))
    if (definition !== old) {
      const check = this.driver.options.type === 'mariadb' ? await this.checkOf(tableName, changed.name) : ''
      await this.query(`${alter} MODIFY ${definition}${check}`)
    }
    if (before.isUnique !== after.isUnique)
      await super.changeColumn(path, Object.assign(after.clone(), { isUnique: before.isUnique }), after)
    await reload(this, table, path)
  }

  /** The check that belongs to a column of MariaDB. */
  private async checkOf(table: string, column: string): Promise<string> {
    const [check]: { clause: string }[] = await this.query(COLUMN_CHECK, [table, column])
    return check ? ` CHECK (${check.clause})` : ''
  }

  /** Rejects with a sentence that names what uses a column, or with the same error. */
  private async explainUse(
    error: unknown,
    table: string,
    column: string,
    change: 'drop' | 'rename' = 'drop',
  ): Promise<never> {
    const [, where] = /in '(CHECK|GENERATED ALWAYS AS)'$/.exec(String(Object(error).message)) ?? []
    if (!where) throw error
    const isCheck = where === 'CHECK'
    const users: { name: string }[] = await this.query(isCheck ? CHECKS : GENERATED, [table, column])
    const kind = isCheck ? 'check constraint' : 'generated column'
    throw new Error(
      `MariaDB cannot ${change} the column "${column}" of "${table}", because a ${kind} uses it: ` +
        `${users.map(({ name }) => name).join(', ')}. Drop the ${kind} first.`,
      { cause: error },
    )
  }
}

/** The unique indexes that have a column among others. MariaDB and MySQL reject to drop such a column. */
const SHARED_UNIQUE = `
  SELECT index_name AS name FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = ? AND non_unique = 0 AND index_name <> 'PRIMARY'
  GROUP BY index_name HAVING COUNT(*) > 1 AND MAX(column_name = ?) = 1`

/** The checks of a table in which a column occurs. */
const CHECKS = `
  SELECT constraint_name AS name FROM information_schema.check_constraints
  WHERE constraint_schema = DATABASE() AND table_name = ? AND LOCATE(CONCAT('\`', ?, '\`'), check_clause)`

/** The check that belongs to a column, which has its name. */
const COLUMN_CHECK = `
  SELECT check_clause AS clause FROM information_schema.check_constraints
  WHERE constraint_schema = DATABASE() AND table_name = ? AND level = 'Column' AND constraint_name = ?`

/** The generated columns of a table in whose expressions a column occurs. */
const GENERATED = `
  SELECT column_name AS name FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = ? AND LOCATE(CONCAT('\`', ?, '\`'), generation_expression)`

/** The expression of a generated column. */
const EXPRESSION = `
  SELECT generation_expression AS value FROM information_schema.columns
  WHERE table_schema = ? AND table_name = ? AND column_name = ?`

readExpressions(MariadbRunner, EXPRESSION)
