import { Command } from 'commander'
import type { ObjectLiteral } from 'typeorm'
import { CommandError } from '../../command-errors.js'
import type { Jobs } from '../../jobs/queue.js'
import { schedulesOf } from '../../jobs/schedules.js'
import type { Selection } from '../../jobs/store.js'
import { parameterFilter } from '../../logging/filter.js'
import { loadQueue } from '../support/jobs.js'
import { parseJson } from '../support/application-folder.js'
import { toJson } from '../support/output.js'
import { confirm } from '../support/questions.js'
import { table } from '../support/table.js'

interface Options extends Pick<Selection, 'state' | 'queue' | 'name'> {
  json?: boolean
  dead?: boolean
  yes?: boolean
}

/** A subcommand: its usage, and what it does with the arguments. */
interface Step {
  usage: string
  summary: string
  flags?: readonly (readonly [flags: string, description: string])[]
  run(jobs: Jobs, options: Options, args: readonly string[]): Promise<string | void>
}

const json = ['--json', 'print JSON'] as const
const byName = ['--name <name>', 'only jobs with this name'] as const
const dead = ['--dead', 'all dead jobs'] as const
const yes = ['-y, --yes', 'discard without confirmation'] as const

const STEPS: readonly Step[] = [
  {
    usage: 'list',
    summary: 'list jobs, the oldest first, at most 1,000',
    flags: [
      ['--state <state>', 'only waiting, running or dead jobs'],
      ['--queue <queue>', 'only jobs of this queue'],
      byName,
      json,
    ],
    run: list,
  },
  { usage: 'show <id>', summary: 'print a job with its arguments and its last error', run: show },
  {
    usage: 'retry [ids...]',
    summary: 'make dead or waiting jobs due now, with all their attempts',
    flags: [dead, byName],
    run: async (jobs, options, ids) =>
      countSentence(await jobs.store.retry(await selection(jobs, options, ids)), 'due again'),
  },
  {
    usage: 'discard [ids...]',
    summary: 'delete jobs; a running one is aborted',
    flags: [dead, byName, yes],
    run: discard,
  },
  { usage: 'enqueue <name> [json]', summary: 'enqueue a job with arguments as JSON', run: enqueue },
  {
    usage: 'schedules',
    summary: 'list the schedules with their last and next ticks',
    flags: [json],
    run: schedules,
  },
]

/** `kit jobs`: lists, retries and discards background jobs. */
export function jobsCommand(): Command {
  const command = new Command('jobs')
    .description(
      'Prints the numbers of waiting, running and dead background jobs of each queue, and the age of the oldest job that is due. ' +
        'The environment is GO_ENV (default: development).',
    )
    .option(...json)
    .addHelpText(
      'after',
      '\nExample:\n  $ kit jobs\n  $ kit jobs list --state dead\n  $ kit jobs retry --dead --name send_digest\n  $ kit jobs enqueue send_digest \'{"user_id": "..."}\'',
    )
    .action((options: Options) => perform({ usage: 'jobs', summary: '', run: counts }, options, []))
  for (const step of STEPS) {
    const sub = command
      .command(step.usage)
      .summary(step.summary)
      .description(`${sentence(step.summary)}.`)
    for (const [flags, description] of step.flags ?? []) sub.option(flags, description)
    // After the arguments, Commander passes the options and the command.
    sub.action((...given: unknown[]) =>
      perform(step, sub.optsWithGlobals(), given.slice(0, -2).flat() as string[]),
    )
  }
  return command
}

async function perform(step: Step, options: Options, args: readonly string[]): Promise<void> {
  const { app, queue } = await loadQueue()
  const { store } = queue.internal
  try {
    await store.database.open()
    await store.check()
    const text = await step.run(queue.internal, options, args)
    if (text) console.log(text)
  } finally {
    await app.close()
  }
}

async function counts({ store, definitions }: Jobs, options: Options): Promise<string> {
  const queues = await store.counts()
  if (options.json) return toJson(queues)
  const unknown = (await store.names()).filter((name) => !definitions.has(name))
  const rows = queues.map(({ age, ...row }) => ({
    ...row,
    oldest: age === undefined ? '' : `${Math.round(age / 1000)} s`,
  }))
  return [
    tableOf(rows, 'There are no jobs.'),
    ...unknown.map((name) => `No class declares ${name}, so its jobs do not run.`),
  ].join('\n')
}

async function list(jobs: Jobs, { state, queue, name, json: isJson }: Options): Promise<string> {
  const found = (await jobs.store.list(await checkSelection(jobs, { state, queue, name }))).map(detailsOf)
  if (isJson) return toJson(found)
  const columns = ['id', 'name', 'queue', 'state', 'attempts', 'due_at', 'error'] as const
  const rows = found.map((row) => Object.fromEntries(columns.map((column) => [column, row[column]])))
  return tableOf(rows, 'There are no such jobs.')
}

async function show(jobs: Jobs, _options: Options, ids: readonly string[]): Promise<string> {
  const [row = {}] = await jobs.store.list(await selection(jobs, {}, ids))
  const given = parameterFilter()(parseJson(String(row['arguments'])) ?? row['arguments'])
  return toJson({ ...detailsOf(row), arguments: given, error: parseJson(String(row['error'])) })
}

async function discard(jobs: Jobs, options: Options, ids: readonly string[]): Promise<string | void> {
  const selected = await selection(jobs, options, ids)
  const count = (await jobs.store.list(selected)).length
  if (
    !options.yes &&
    count > 0 &&
    !(await confirm(`Discard ${count < 1000 ? count : '1,000 or more'} jobs?`))
  )
    return
  return countSentence(await jobs.store.discard(selected), 'discarded')
}

async function enqueue(jobs: Jobs, _options: Options, [name = '', text = '{}']: readonly string[]) {
  const definition = jobs.definitions.get(name)
  const args = parseJson(text)
  if (args === undefined)
    throw new CommandError(`${text} is not JSON. Quote it for the shell: '{"user_id": "..."}'.`)
  checkKnown('name', name, [...jobs.definitions.keys()])
  return definition && jobs.enqueue(jobs.store.database.manager, definition.target, args)
}

async function schedules({ store, definitions }: Jobs, options: Options): Promise<string> {
  const tableName = store.database.driver.escape(store.tables.schedules)
  const rows = await store.query(`SELECT name, last_tick FROM ${tableName}`)
  const all = schedulesOf(definitions.values()).map(({ name, expression, timeZone, next }) => {
    const row = rows.find((one) => one['name'] === name)
    const times = { last: toIso(row?.['last_tick']), next: toIso(next(Date.now())) }
    return { name, expression, time_zone: timeZone, ...times }
  })
  return options.json ? toJson(all) : tableOf(all, 'There are no schedules.')
}

/** The jobs that a command names: by ids, each of which must exist, or all with a name, or all dead ones. */
async function selection(jobs: Jobs, options: Options, ids: readonly string[]): Promise<Selection> {
  const { name, dead: isDead = false } = options
  if (ids.length === 0 && !isDead && name === undefined)
    throw new CommandError('Name the ids of jobs, or use --dead for all dead ones, or --name.')
  if (ids.length === 0) return checkSelection(jobs, { state: isDead ? 'dead' : undefined, name })
  const found = (await jobs.store.list({ ids })).map((row) => String(row['id']))
  const unknown = ids.find((id) => !found.includes(id.toLowerCase()))
  if (unknown !== undefined)
    throw new CommandError(`There is no job ${unknown}. \`kit jobs list\` shows the ids.`)
  return { ids: found }
}

/**
 * Checks what selects jobs. The class of a job may have been removed since it was enqueued, so the names in
 * the table count, too.
 *
 * @throws CommandError for an unknown state, queue or name
 */
async function checkSelection({ settings, definitions, store }: Jobs, given: Selection): Promise<Selection> {
  const { state, queue, name } = given
  checkKnown('state', state, ['waiting', 'running', 'dead'])
  checkKnown('queue', queue, settings.queues)
  if (name !== undefined && !definitions.has(name))
    checkKnown('name', name, [...new Set([...definitions.keys(), ...(await store.names())])])
  return given
}

/** @throws CommandError when the value is given and unknown */
function checkKnown(
  what: 'state' | 'queue' | 'name',
  value: string | undefined,
  known: readonly string[],
): void {
  if (value !== undefined && !known.includes(value))
    throw new CommandError(
      `There is no ${what === 'name' ? 'job' : what} "${value}". Known: ${known.join(', ')}.`,
    )
}

/** A row without the columns that only workers use. Times are in ISO 8601. */
function detailsOf({ id, name, queue, state, attempts, due_at, enqueued_at, error }: ObjectLiteral) {
  const times = { due_at: toIso(due_at), enqueued_at: toIso(enqueued_at) }
  return {
    id,
    name,
    queue,
    state,
    attempts,
    ...times,
    error: Object(parseJson(String(error))).message ?? null,
  }
}

function toIso(time: unknown): string | null {
  return time === null || time === undefined ? null : new Date(Number(time)).toISOString()
}

/** Returns a table of rows, whose columns have the names of their members; without rows, `otherwise`. */
function tableOf(rows: readonly object[], otherwise: string): string {
  const head = Object.keys(rows[0] ?? {}).map((name) =>
    name.replace(/_at$/, '').replace('_', ' ').toUpperCase(),
  )
  const cells = rows.map((row) => Object.values(row).map((value) => String(value ?? '')))
  return table(head, cells, otherwise)
}

/** `1 job is discarded.` */
function countSentence(count: number, what: string): string {
  return `${count} ${count === 1 ? 'job is' : 'jobs are'} ${what}.`
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
