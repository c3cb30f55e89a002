import { Table, type QueryRunner } from 'typeorm'
import { Query } from 'typeorm/driver/Query.js'
import { MetadataTableType } from 'typeorm/driver/types/MetadataTableType.js'

/** A row of TypeORM's table with what a database does not store. */
interface MetadataRow {
  type: MetadataTableType
  schema?: string
  table?: string
  name?: string
}

/** The statement that is run instead of one for TypeORM's table. */
const nothing = new Query('SELECT 1 FROM (SELECT 1) AS one WHERE 1 = 0')

/**
 * Makes a class of query runners read the expressions of generated columns from the database. TypeORM stores
 * them in its own table, which need not exist.
 *
 * @param expression the query for the expression of a column, whose parameters are the schema, the table and
 *   the column; undefined if the class reads the expressions with the tables
 */
export function readExpressions({ prototype }: { prototype: object }, expression?: string): void {
  for (const action of ['select', 'insert', 'delete']) {
    const name = `${action}TypeormMetadataSql`
    const inherited: (row: MetadataRow) => Query = Reflect.get(prototype, name)
    const value = function (this: QueryRunner, row: MetadataRow): Query {
      if (row.type !== MetadataTableType.GENERATED_COLUMN) return inherited.call(this, row)
      if (action !== 'select' || expression === undefined) return nothing
      return new Query(expression, [row.schema, row.table, row.name])
    }
    Object.defineProperty(prototype, name, { value })
  }
}

/** Reads a changed table again, into the object that the migration holds. */
export async function reload(runner: QueryRunner, table: Table | string, path: string): Promise<void> {
  const changed = await runner.getTable(path)
  if (changed && table instanceof Table) Object.assign(table, changed)
}
