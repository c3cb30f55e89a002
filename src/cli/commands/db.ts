import { Command, InvalidArgumentError } from 'commander'
import { existsSync } from 'node:fs'
import type { EntityManager } from 'typeorm'
import type { Database } from '../../database/database.js'
import { createDatabase, dropDatabase, placeOf, fileOf } from '../../database/engines/create-drop.js'
import { findIndexesOfTrash, type UniqueIndex } from '../../records/unique-indexes.js'
import { findCrossings, findWideIndexes, type Crossing, type WideIndex } from '../../records/crossings.js'
import { findTableProblems } from '../../records/participants.js'
import { declaredLists, findListWarnings } from '../../records/lists/list-warnings.js'
import { currentEnvironment } from '../../common/environment.js'
import { CommandError } from '../../command-errors.js'
import { noteCommand } from '../../common/command.js'
import { load, loadApp, usingDatabase } from '../support/application-modules.js'
import { confirm } from '../support/questions.js'
import { table } from '../support/table.js'

interface Options {
  yes?: boolean
  force?: boolean
  steps?: number
}

interface Step {
  name: string
  summary: string
  description: string
  /** Whether it deletes records. It then asks for confirmation, and requires --force in production. */
  isDestructive?: boolean
  /** Whether the database must exist. */
  needsDatabase?: boolean
  /** Whether the last build is used if the code does not compile. Its migrations are those that were run. */
  usesLastBuild?: boolean
  run(database: Database, options: Options): Promise<void>
}

const STEPS: Step[] = [
  {
    name: 'migrate',
    summary: 'run the pending migrations',
    description:
      'Runs the pending migrations, oldest first, each in its own transaction. Processes that migrate at the same time wait for each other. A missing SQLite file is created. If a migration fails, it is rolled back; MariaDB and MySQL cannot roll back, so the message lists what remains.',
    run: migrate,
  },
  {
    name: 'rollback',
    summary: 'roll back the last migration',
    description:
      'Rolls back the migrations that were run last, each in its own transaction. If the application does not compile, its last build is used.',
    needsDatabase: true,
    usesLastBuild: true,
    run: rollback,
  },
  {
    name: 'status',
    summary: 'list the migrations and their state',
    description: 'Lists the migrations, oldest first, and whether each one has been run.',
    needsDatabase: true,
    run: status,
  },
  {
    name: 'check',
    summary: 'list missing indexes, and references that leave their parent',
    description:
      'Lists the indexes that the lists with @Queryable need and the database lacks: for each column that a list sorts by, or filters by eq or prefix. Also lists the columns of cursor pages that do not have milliseconds, and counts the stored references to records of other parents (`@Within`), and names what the table of a history lacks. Notes name unique indexes over all parents. The exit status is 1 if it finds one.',
    needsDatabase: true,
    run: check,
  },
  {
    name: 'replicas',
    summary: 'list the replicas and their lag',
    description:
      'Checks the servers in `replicas` for three seconds, and lists which of them requests read, which are left out and why, and whether a failover can lose confirmed writes.',
    run: replicas,
  },
  {
    name: 'create',
    summary: 'create an empty database',
    description: 'Creates the database without tables. An existing database is left unchanged.',
    run: create,
  },
  {
    name: 'drop',
    summary: 'delete the database',
    description:
      'Deletes the database with all its records. Asks for confirmation. Does not run in production without --force.',
    isDestructive: true,
    needsDatabase: true,
    run: drop,
  },
  {
    name: 'reset',
    summary: 'delete the database, create it and migrate',
    description:
      'Deletes the database with all its records, creates it and runs the migrations. Asks for confirmation. Does not run in production without --force.',
    isDestructive: true,
    run: reset,
  },
  {
    name: 'seed',
    summary: 'run src/seeds.ts',
    description:
      'Runs the `seed` function of src/seeds.ts in one transaction, which is rolled back if the function throws.',
    needsDatabase: true,
    run: seed,
  },
]

/** `kit db`: manages the database of the environment (GO_ENV). */
export function dbCommand(): Command {
  const db = new Command('db')
    .description(
      'Manages the database of the environment (GO_ENV, default: development). ormconfig.ts or DATABASE_URL configures it.',
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ kit db migrate\n  $ kit db rollback --steps 2\n  $ GO_ENV=test kit db reset -y',
    )
  for (const step of STEPS) db.addCommand(commandOf(step))
  return db
}

function commandOf(step: Step): Command {
  const command = new Command(step.name)
    .summary(step.summary)
    .description(step.description)
    .addHelpText('after', `\nExample:\n  $ kit db ${step.name}${step.isDestructive ? ' -y' : ''}`)
  if (step.name === 'rollback') command.option('--steps <n>', 'number of migrations', parseSteps, 1)
  if (step.isDestructive) {
    command.option('-y, --yes', 'delete without confirmation').option('--force', 'also delete in production')
  }
  return command.action((options: Options) =>
    usingDatabase(
      (database) => run(step, database, options),
      step.usesLastBuild ? 'if possible' : 'required',
    ),
  )
}

function parseSteps(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Use a number from 1.')
}

async function run(step: Step, database: Database, options: Options): Promise<void> {
  if (step.isDestructive) await confirmDeletion(step, database, options)
  const file = fileOf(database)
  if (step.needsDatabase && file !== undefined && !existsSync(file)) throw missing(database)
  await step.run(database, options)
}

/** @throws CommandError when the records must not be deleted */
async function confirmDeletion({ name }: Step, database: Database, { yes, force }: Options): Promise<void> {
  if (currentEnvironment() === 'production' && !force) {
    throw new CommandError(
      `kit db ${name} deletes all records, and the environment is production. Use --force to run it anyway.`,
    )
  }
  if (yes || (await confirm(`Delete ${placeOf(database)} with all its records?`))) return
  throw new CommandError('Nothing was deleted.')
}

function missing(database: Database): CommandError {
  const command = fileOf(database) === undefined ? 'create' : 'migrate'
  return new CommandError(
    `The database ${placeOf(database)} does not exist. Create it with \`kit db ${command}\`.`,
  )
}

async function migrate(database: Database): Promise<void> {
  await database.open()
  const names = await database.migrate((name) => console.log(`migrated ${name}`))
  if (names.length === 0) console.log('There are no pending migrations.')
  const states = await database.migrationStatus()
  const edited = states.filter((state) => state.edited).map(({ name }) => name)
  if (edited.length > 0) console.error(editedAdvice(edited))
}

/** Advises what to do about migrations that differ from those that were run. */
function editedAdvice(names: string[]): string {
  const environment = currentEnvironment()
  const variable = environment === 'development' ? '' : `GO_ENV=${environment} `
  const reset = `, or run \`${variable}npx kit db reset -y\`, which deletes all records`
  return (
    `These migrations were edited after they were run: ${names.join(', ')}. The database lacks the changes. ` +
    `Undo them, and write another migration${environment === 'production' ? '' : reset}.`
  )
}

async function rollback(database: Database, { steps }: Options): Promise<void> {
  await database.open()
  const names = await database.rollback(steps, (name) => console.log(`rolled back ${name}`))
  if (names.length === 0) console.log('There are no migrations to roll back.')
}

async function status(database: Database): Promise<void> {
  await database.open()
  const states = await database.migrationStatus()
  const rows = states.map((state) => [
    state.missing ? 'file missing' : state.edited ? 'edited' : state.executed ? 'run' : 'pending',
    state.name,
  ])
  console.log(table(['STATUS', 'MIGRATION'], rows, 'There are no migrations.'))
}

async function check(database: Database): Promise<void> {
  const app = await loadApp()
  app.implyWithin()
  await database.open()
  const { routes } = app
  const warnings = await findListWarnings(database, declaredLists(database, routes))
  const problems = warnings.flatMap(({ list, problems }) => problems.map((problem) => `${list}: ${problem}`))
  const crossings = (await findCrossings(database)).map(describeCrossing)
  const tables = await findTableProblems(database)
  for (const problem of [...problems, ...crossings, ...tables]) console.log(problem)
  for (const index of await findWideIndexes(database)) console.log(describeIndex(index))
  for (const index of await findIndexesOfTrash(database)) console.log(describeTrashIndex(index))
  const count = problems.length + crossings.length + tables.length
  if (count > 0) throw new CommandError(`The database has ${count} ${count === 1 ? 'problem' : 'problems'}.`)
  console.log('The database has all indexes that the lists need.')
}

function describeCrossing({ name, count }: Crossing): string {
  const what = count === 1 ? 'stored reference leads' : 'stored references lead'
  return (
    `${name}: ${count} ${what} out of the parent (see @Within). No request can store such a reference, but pages show ` +
    'the record to visitors who may see it. Correct it with SQL or in the console.'
  )
}

/** It is not a problem: some values must be unique among all. */
function describeIndex({ table, name, columns, keys }: WideIndex): string {
  return `Note: The values of ${columns.join(' and ')} in ${table} are unique over all parents (${name}), so a conflict tells what others have. If they need only be unique within one, let the index begin with ${keys.join(' and ')}.`
}

/** It is not a problem: a number may stay taken in the trash. */
function describeTrashIndex({ table, name, columns }: UniqueIndex): string {
  const list = columns.map((column) => `'${column}'`).join(', ')
  return `Note: The values of ${columns.join(' and ')} in ${table} stay taken while their record is in the trash (${name}). To free them, replace the index in a migration by uniqueOutsideTrash(runner, '${table}', [${list}]).`
}

async function replicas(database: Database): Promise<void> {
  // The database is not opened, because that needs the primary.
  const state = await (await database.watch(() => {}))?.describe?.()
  if (!state) return console.log(`The database has no replicas in the environment ${database.environment}.`)
  const rows = state.replicas.map(({ name, problem, lag }) => [
    name,
    lag < Infinity && !problem ? `${Math.round(lag)} ms` : '',
    problem ? `left out: ${problem}` : state.primaryProblem === undefined ? 'used' : 'responds',
  ])
  console.log(table(['SERVER', 'LAG', 'STATE'], rows))
  if (state.primaryProblem !== undefined)
    throw new CommandError(
      `The primary ${placeOf(database)} does not respond: ${state.primaryProblem}. ` +
        'Without it, no lag is known, and no process can start. Start it, or promote a replica.',
    )
  console.log(
    state.canLoseCommits
      ? 'A failover can lose confirmed writes: synchronous_standby_names of the primary is empty.'
      : 'A failover loses no confirmed writes: the primary waits for a synchronous standby.',
  )
}

async function create(database: Database): Promise<void> {
  const isNew = await createDatabase(database)
  console.log(isNew ? `created ${placeOf(database)}` : `The database ${placeOf(database)} already exists.`)
}

async function drop(database: Database): Promise<void> {
  if (!(await dropDatabase(database))) throw missing(database)
  console.log(`deleted ${placeOf(database)}`)
}

async function reset(database: Database): Promise<void> {
  if (await dropDatabase(database)) console.log(`deleted ${placeOf(database)}`)
  await create(database)
  await migrate(database)
}

const NO_SEEDS =
  'There is no src/seeds.ts. Write it: export async function seed(tx: EntityManager) { ... }, ' +
  'which creates the first records. Check for existing ones, so that you can run it again.'

async function seed(database: Database): Promise<void> {
  if (!existsSync('src/seeds.ts')) throw new CommandError(NO_SEEDS)
  const work = await load<(tx: EntityManager) => Promise<void>>('src/seeds', 'seed')
  noteCommand('kit db seed')
  await database.open()
  await database.transaction(work)
  console.log('src/seeds.ts has been run.')
}
