import { expect } from 'chai'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { TableCheck, TableColumn, TableForeignKey, TableUnique } from 'typeorm'
import type { MigrationInterface, QueryRunner } from 'typeorm'
import { Database } from '../../../src/database/database.js'
import { MigrationFailed } from '../../../src/errors.js'
import { generate } from '../../../src/generator/files/files.js'
import { migrationActions } from '../../../src/generator/migration-generator.js'
import { modelActions } from '../../../src/generator/model-generator.js'
import { Application } from '../../support/applications/generated.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { Random } from '../../support/random.js'
import { BASE, quote, randomTable, type RandomTable } from '../../support/random-tables.js'
import { schemaFacts } from '../../support/schema-facts.js'

/** The number of tables: a few with `npm test`, or `KIT_MIGRATIONS`. A server takes ten times as long as SQLite. */
const count = Math.ceil(Number(process.env['KIT_MIGRATIONS'] ?? 6) / (engine === 'sqlite' ? 1 : 3))
/** The seed of a failed run, which is printed with the failure. */
const seed = Number(process.env['KIT_MIGRATIONS_SEED'] ?? Date.now() % 2 ** 31)

/** The attributes that migrations add. A column of a table with rows needs a value in them, so most are nullable. */
const ADDED: [name: string, attribute: string][] = [
  ['note', 'note:nulls.string'],
  ['note', 'note:nulls.string:unique'],
  ['stock', 'stock:nulls.int:index'],
  ['active', 'active:bool'],
  ['mood', 'mood:nulls.enum:good,bad'],
  ['price', 'price:nulls.decimal:8,2'],
  ['happened_at', 'happened_at:nulls.datetime'],
  ['owner_id', 'owner:nulls.references'],
]

/** How each engine names what prevents a column from being removed. */
const REASONS: Record<typeof engine, RegExp> = {
  sqlite:
    /the (?:view|index|trigger) "box\d.*" uses what changes|table use it: (?:CONSTRAINT|CHECK|GENERATED)/,
  postgres: /(?:view|column|constraint) .* depends on (?:column|table)/,
  mariadb: /uses it: \w+.*\. Drop the (?:check constraint|generated column) first/,
}

interface Command {
  words: string[]
  /** The name of the column or table that it is about. */
  subject: string
  kind: 'add' | 'remove' | 'create'
  migration: new () => MigrationInterface
}

describe(`A migration (KIT_MIGRATIONS_SEED=${seed})`, () => {
  const random = new Random(seed)
  const tables = Array.from({ length: count }, (_, index) => randomTable(random, `box${index}_things`))
  const commands = new Map<RandomTable, Command[]>()
  let app: Application

  before(async () => {
    app = Application.api()
    generate(app.folder, modelActions(app.folder, 'owner'))
    const written = tables.map((table) => [table, wordsFor(table).map(write)] as const)
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
    for (const [table, list] of written) commands.set(table, await Promise.all(list.map(load)))
  })

  after(() => app.remove())

  /** The commands for a table: some columns to add, each column to remove, and a table to create. */
  function wordsFor({ name, columns }: RandomTable): Omit<Command, 'migration'>[] {
    const [subject, attribute] = random.of([ADDED[0] ?? ['', ''], ...ADDED])
    const created = `create_${name.replace('_things', '_parts')}`
    return [
      { kind: 'add', subject, words: [`add_${subject}_to_${name}`, attribute] },
      ...columns.map((column): Omit<Command, 'migration'> => {
        const [removed = ''] = column.split(':')
        return { kind: 'remove', subject: removed, words: [`remove_${removed}_from_${name}`, column] }
      }),
      {
        kind: 'create',
        subject: created.slice('create_'.length),
        words: [
          created,
          'title',
          'state:enum:open,done',
          'owner:references',
          'things:many'.replace('things', 'owners'),
        ],
      },
    ]
  }

  function write(command: Omit<Command, 'migration'>): Omit<Command, 'migration'> & { file: string } {
    const [word = '', ...attributes] = command.words
    const actions = migrationActions(app.folder, word, attributes)
    generate(app.folder, actions)
    return { ...command, file: basename(actions[0]?.path ?? '', '.ts') }
  }

  async function load(command: Omit<Command, 'migration'> & { file: string }): Promise<Command> {
    const module: Record<string, new () => MigrationInterface> = await import(
      pathToFileURL(app.path(`dist/migrations/${command.file}.js`)).href
    )
    const [migration] = Object.values(module)
    if (!migration) throw new Error(command.file)
    return { ...command, migration }
  }

  for (const table of tables) {
    it(`that was generated leaves everything else of ${table.name} as it is, and so does its rollback`, () =>
      withTable(table, async (database, url) => {
        for (const command of commands.get(table) ?? []) await check(command, table, database, url)
      }))

    // The other engines have statements for these changes.
    if (engine !== 'sqlite') continue

    it(`that creates ${table.name} again on SQLite loses nothing of it`, () =>
      withTable(table, async (database, url) => {
        const facts = await schemaFacts(database)
        const rows = await rowsOf(database, table)
        const other = await new Database({ test: { url }, migrations: [thereAndBack(table)] }, 'test').open()
        await other.migrate().finally(() => other.close())
        expect(await schemaFacts(database)).to.deep.equal(facts)
        expect(await rowsOf(database, table)).to.deep.equal(rows)
      }))
  }

  async function withTable(
    table: RandomTable,
    work: (database: Database, url: string) => Promise<void>,
  ): Promise<void> {
    const url = await newDatabase()
    const database = await new Database({ test: { url } }, 'test').open()
    try {
      for (const sql of [...BASE[engine], ...table.statements]) await database.query(sql)
      await work(database, url)
    } catch (error) {
      console.log(table.statements.join(';\n'))
      throw error
    } finally {
      await database.close()
    }
  }

  async function check(command: Command, table: RandomTable, database: Database, url: string): Promise<void> {
    const { words, subject, kind } = command
    const about = words.join(' ')
    const other = await new Database({ test: { url }, migrations: [command.migration] }, 'test').open()
    const [facts, rows] = [await schemaFacts(database), await rowsOf(database, table)]
    const names = (fact: string): boolean => fact.includes(subject)
    try {
      await other.migrate()
      const changed = await schemaFacts(database)
      const [lost, gained] = [without(facts, changed), without(changed, facts)]
      expect(
        lost.filter((fact) => kind !== 'remove' || !names(fact)),
        `${about}: lost`,
      ).to.deep.equal([])
      expect(
        gained.filter((fact) => !names(fact) && !isRest(fact, lost)),
        `${about}: gained`,
      ).to.deep.equal([])
      await other.rollback()
      const restored = await schemaFacts(database)
      if (kind === 'remove') {
        const kept = (list: string[]) =>
          list.filter((fact) => !lost.includes(fact) && !gained.includes(fact) && !names(fact))
        expect(kept(restored), `${about}: rolled back`).to.deep.equal(kept(facts))
      } else {
        expect(restored, `${about}: rolled back`).to.deep.equal(facts)
        expect(await rowsOf(database, table), `${about}: rows`).to.deep.equal(rows)
      }
    } catch (error) {
      if (!(error instanceof MigrationFailed) || kind !== 'remove') throw error
      expectReason(error, about)
      expect(await schemaFacts(database), about).to.deep.equal(facts)
    } finally {
      await other.close()
    }
  }

  /** An error names what prevents the change: another part of the table, or something that uses it. */
  function expectReason({ message }: Error, about: string): void {
    expect(message).to.match(REASONS[engine], about)
  }

  function rowsOf(database: Database, table: RandomTable): Promise<unknown> {
    return database.query(`SELECT id, title, size FROM ${quote(table.name)} ORDER BY id`)
  }
})

/** A migration that makes changes for which SQLite has no statement, and undoes them. */
function thereAndBack({ name }: RandomTable): new () => MigrationInterface {
  return class ThereAndBack1700000000000 implements MigrationInterface {
    async up(runner: QueryRunner): Promise<void> {
      const key = { columnNames: ['owner_ref'], referencedTableName: 'owners', referencedColumnNames: ['id'] }
      await runner.createForeignKey(name, new TableForeignKey({ name: 'new_key', ...key }))
      await runner.dropForeignKey(name, 'new_key')
      const unique = new TableUnique({ name: 'new_unique', columnNames: ['id', 'title'] })
      await runner.createUniqueConstraint(name, unique)
      await runner.dropUniqueConstraint(name, unique)
      await runner.createCheckConstraint(
        name,
        new TableCheck({ name: 'new_check', expression: 'id IS NOT NULL' }),
      )
      await runner.dropCheckConstraint(name, 'new_check')
      const column = { name: 'new_column', type: 'varchar', isNullable: true, isUnique: true }
      await runner.addColumn(name, new TableColumn(column))
      await runner.dropColumn(name, 'new_column')
      for (const old of (await runner.getTable(name))?.columns ?? []) {
        if (!old.isNullable || old.generatedType || ['id', 'owner_ref'].includes(old.name)) continue
        const changed = Object.assign(old.clone(), { isNullable: false })
        await runner.query(
          `UPDATE ${quote(name)} SET ${quote(old.name)} = 7 WHERE ${quote(old.name)} IS NULL`,
        )
        await runner.changeColumn(name, old, changed)
        await runner.changeColumn(name, changed, old)
      }
    }

    async down(): Promise<void> {}
  }
}

function without(facts: string[], others: string[]): string[] {
  return facts.filter((fact) => !others.includes(fact))
}

/** Whether a fact is the rest of an index that MariaDB keeps with its other columns. */
function isRest(fact: string, lost: string[]): boolean {
  const [name = ''] = fact.split(' (')
  return engine === 'mariadb' && lost.some((other) => other.startsWith(`${name} (`))
}
