import { Table, TableColumn, TableIndex, type QueryRunner } from 'typeorm'
import { DeclarationError } from '../errors.js'
import { shortName } from '../naming/short-name.js'
import { engineOf } from './engines/engines.js'

/** The generated column of MariaDB: 1, or NULL in the trash. A unique index does not compare NULL. */
const generatedColumn = 'outside_trash'

/**
 * Creates a unique index that ignores trashed records, so that their values are free:
 * `contracts_number_unique`. It is a partial index on SQLite and PostgreSQL. MariaDB and MySQL have none, so
 * there the index ends with a generated column, for which TypeORM needs a row in the `typeorm_metadata`
 * table.
 *
 * @example
 * await uniqueOutsideTrash(runner, 'contracts', ['number'])
 * @param deleteDate the column of the property with `@DeleteDateColumn`
 * @throws DeclarationError when the table has no such column
 */
export async function uniqueOutsideTrash(
  runner: QueryRunner,
  table: string,
  columns: readonly string[],
  deleteDate = 'deleted_at',
): Promise<void> {
  const found = await runner.getTable(table)
  if (!found?.findColumnByName(deleteDate))
    throw new DeclarationError(
      `uniqueOutsideTrash() needs the column "${deleteDate}", which the table "${table}" does not have. Add it first.`,
    )
  const name = shortName(`${table}_${columns.join('_')}_unique`)
  const { driver } = runner.dataSource
  const isPartial = engineOf(driver).name !== 'mariadb'
  if (!isPartial) await generateColumn(runner, table, deleteDate)
  const where = isPartial ? { where: `${driver.escape(deleteDate)} IS NULL` } : {}
  const columnNames = isPartial ? [...columns] : [...columns, generatedColumn]
  await runner.createIndex(table, new TableIndex({ name, columnNames, isUnique: true, ...where }))
}

/** Adds the generated column, and what TypeORM needs to know of it, unless the table has the column. */
async function generateColumn(runner: QueryRunner, table: string, deleteDate: string): Promise<void> {
  if (await runner.hasColumn(table, generatedColumn)) return
  const column = (name: string, type: string) => ({ name, type, isNullable: name !== 'type' })
  const names = ['database', 'schema', 'table', 'name'].map((name) => column(name, 'varchar(255)'))
  const known = new Table({
    name: 'typeorm_metadata',
    columns: [column('type', 'varchar(255)'), ...names, column('value', 'text')],
  })
  await runner.createTable(known, true)
  await runner.addColumn(
    table,
    new TableColumn({
      name: generatedColumn,
      type: 'tinyint',
      isNullable: true,
      asExpression: `IF(${runner.dataSource.driver.escape(deleteDate)} IS NULL, 1, NULL)`,
      generatedType: 'STORED',
    }),
  )
}
