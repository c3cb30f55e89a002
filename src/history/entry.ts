import { Exclude } from 'class-transformer'
import { Column, Entity, Table, type DataSource, type QueryRunner } from 'typeorm'
import { engineOf } from '../extension.js'
import { column, Model, primaryKey, timestamps } from '../index.js'

/** The change of an attribute. */
export interface AttributeChange {
  /** The name that the attribute had: `title`, `label_ids`. */
  attribute: string
  /** The value before, as in the record's JSON; null in the entry of a new record, and if it is masked. */
  from: unknown
  to: unknown
  /** Whether the values are hidden. */
  masked: boolean
}

/** The kind of a change: `unrecorded` names statements of `withoutHistory`, and `forgotten` deleted entries. */
export type HistoryAction = 'create' | 'update' | 'trash' | 'restore' | 'destroy' | 'unrecorded' | 'forgotten'

/** An entry of the history: who changed what. Only the framework writes entries. */
@Entity('history_entries')
export class HistoryEntry extends Model {
  /** The table of the record. */
  @Column('varchar')
  table_name!: string

  /** The id of the record; null for `unrecorded`. */
  @Column('uuid', { nullable: true })
  record_id!: string | null

  @Column('varchar', { length: 16 })
  action!: HistoryAction

  /** The attributes that have changed, in the order of the model. */
  @Column('json')
  changes!: AttributeChange[]

  /** The id of `ctx.user`. */
  @Column('varchar', { nullable: true })
  user_id!: string | null

  /** The handler, the class of the job, or the command. */
  @Column('varchar', { nullable: true })
  source!: string | null

  /** The id of the request, or of the one that has enqueued the job. */
  @Column('varchar', { length: 128, nullable: true })
  request_id!: string | null

  @Column('varchar', { length: 500, nullable: true })
  reason!: string | null

  /** The user, in templates: `historyOf` sets those whom the reader may see. JSON lacks it. */
  declare readonly user?: Model

  @Exclude({ toPlainOnly: true })
  override updated_at!: Date
}

/** The name of the table. */
export const entryTable = 'history_entries'

/**
 * The table of the entries, for a migration.
 *
 * @example await runner.createTable(historyTable(runner))
 */
export function historyTable(runner: QueryRunner): Table {
  const isNullable = true
  return new Table({
    name: entryTable,
    columns: [
      primaryKey(runner),
      column(runner, 'table_name', 'string'),
      column(runner, 'record_id', 'uuid', { isNullable }),
      column(runner, 'action', 'string', { length: '16' }),
      column(runner, 'changes', 'json'),
      column(runner, 'user_id', 'string', { isNullable }),
      column(runner, 'source', 'string', { isNullable }),
      column(runner, 'request_id', 'string', { length: '128', isNullable }),
      column(runner, 'reason', 'string', { length: '500', isNullable }),
      ...timestamps(runner),
    ],
    indices: [{ name: `${entryTable}_record`, columnNames: ['table_name', 'record_id', 'id'] }],
  })
}

/** Where the table comes from. */
export const howToCreate =
  'Run `kit db migrate`. If no migration creates the table, generate it before: `kit generate migration create_history_entries`.'

/** The parts of the table that a database lacks, each with a remedy. */
export async function missingParts(database: DataSource): Promise<string[]> {
  const runner = database.createQueryRunner()
  try {
    const { columns, indices } = historyTable(runner)
    const table = await runner.getTable(entryTable)
    if (!table)
      return [`The table ${entryTable} is missing, so no record with a history can be saved. ${howToCreate}`]
    const missing = columns.filter(({ name }) => !table.findColumnByName(name))
    const found = await engineOf(database).findIndexes(runner, entryTable)
    const isIndexed = found.some((index) => String(index.columns) === String(indices[0]?.columnNames))
    return [
      ...missing.map(
        ({ name }) =>
          `The table ${entryTable} lacks the column ${name}. Add it in a migration, as historyTable(runner) has it.`,
      ),
      ...(isIndexed
        ? []
        : [
            `The table ${entryTable} lacks the index of the pages of a history. Add it in a migration: await runner.createIndex('${entryTable}', new TableIndex({ columnNames: ['table_name', 'record_id', 'id'] })).`,
          ]),
    ]
  } finally {
    await runner.release()
  }
}
