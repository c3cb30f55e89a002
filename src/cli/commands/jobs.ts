import { Command } from 'commander'
import { CommandError } from '../../command-errors.js'
import { detailsOf, type Administration, type JobRow, type Selection } from '../../jobs/administration.js'
import { parameterFilter } from '../../logging/filter.js'
import { confirm } from '../support/questions.js'
import { loadQueue } from '../support/queue.js'
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
  run(jobs: Administration, options: Options, args: readonly string[]): Promise<string | void>
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
    summary: 'make dead jobs due now, with all their attempts',
    flags: [dead, byName],
    run: async (jobs, options, ids) =>
      numbered(await jobs.retry(await selection(jobs, options, ids)), 'due again'),
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
    sub.action((...given: unknown[]) =>
      perform(step, sub.optsWithGlobals(), given.slice(0, -2).flat() as string[]),
    )
  }
  return command
}

async function perform(step: Step, options: Options, args: readonly string[]): Promise<void> {
  const { app, queue } = await loadQueue()
  const { administration } = queue
  try {
    await administration.open()
    const text = await step.run(administration, options, args)
    if (text) console.log(text)
  } finally {
    await app.close()
  }
}

async function counts(jobs: Administration, options: Options): Promise<string> {
  const queues = await jobs.counts()
  if (options.json) return print(queues)
  const rows = queues.map(({ queue, waiting, running, dead: lost, age }) => [
    queue,
    ...[waiting, running, lost].map(String),
    age === undefined ? '' : `${Math.round(age / 1000)} s`,
  ])
  const unknown = await jobs.unknownNames()
  return [
    table(['QUEUE', 'WAITING', 'RUNNING', 'DEAD', 'OLDEST'], rows, 'There are no jobs.'),
    ...unknown.map((name) => `No class declares ${name}, so its jobs do not run.`),
  ].join('\n')
}

async function list(
  jobs: Administration,
  { state, queue, name, json: isJson = false }: Options,
): Promise<string> {
  const found = (await jobs.list(checked(jobs, { state, queue, name }))).map(detailsOf)
  if (isJson) return print(found)
  const rows = found.map((it) =>
    [it.id, it.name, it.queue, it.state, it.attempts, it.due_at, it.error].map((cell) => String(cell ?? '')),
  )
  const head = ['ID', 'NAME', 'QUEUE', 'STATE', 'ATTEMPTS', 'DUE', 'ERROR']
  return table(head, rows, 'There are no such jobs.')
}

async function show(jobs: Administration, _options: Options, ids: readonly string[]): Promise<string> {
  const [row] = await jobs.list(await selection(jobs, {}, ids))
  const { error: _message, ...details } = detailsOf(row ?? {})
  return print({ ...details, arguments: filteredArguments(row), error: parsed(row?.['error']) })
}

async function discard(
  jobs: Administration,
  options: Options,
  ids: readonly string[],
): Promise<string | void> {
  const selected = await selection(jobs, options, ids)
  const count = (await jobs.list(selected)).length
  if (!options.yes && count > 0 && !(await confirm(`Discard ${count} jobs?`))) return
  return numbered(await jobs.discard(selected), 'discarded')
}

async function enqueue(jobs: Administration, _options: Options, [name = '', text = '{}']: readonly string[]) {
  let args: unknown
  try {
    args = JSON.parse(text)
  } catch {
    throw new CommandError(`${text} is not JSON. Quote it for the shell: '{"user_id": "..."}'.`)
  }
  checked(jobs, { name })
  return jobs.enqueue(name, args)
}

async function schedules(jobs: Administration, options: Options): Promise<string> {
  const all = await jobs.schedules()
  if (options.json) return print(all)
  const rows = all.map((it) => [it.name, it.expression, it.time_zone, it.last ?? '', it.next ?? ''])
  return table(['NAME', 'EXPRESSION', 'TIME ZONE', 'LAST', 'NEXT'], rows, 'There are no schedules.')
}

/** The jobs that a command names: by ids, each of which must exist, or all dead ones. */
async function selection(jobs: Administration, options: Options, ids: readonly string[]): Promise<Selection> {
  const { name, dead: isDead = false } = options
  if (ids.length === 0 && !isDead)
    throw new CommandError('Name the ids of jobs, or use --dead for all dead ones.')
  if (ids.length === 0) return checked(jobs, { state: 'dead', name })
  const known = (await jobs.list({ ids })).map((row) => String(row['id']))
  const unknown = ids.find((id) => !known.includes(id.toLowerCase()))
  if (unknown !== undefined)
    throw new CommandError(`There is no job ${unknown}. \`kit jobs list\` shows the ids.`)
  return { ids: known }
}

/** @throws CommandError for an unknown state, queue or name */
function checked(jobs: Administration, given: Selection): Selection {
  const known = { state: ['waiting', 'running', 'dead'], queue: jobs.queues, name: jobs.names }
  for (const [what, values] of Object.entries(known)) {
    const value = given[what as keyof typeof known]
    if (value !== undefined && !values.includes(value))
      throw new CommandError(`There is no ${what} "${value}". Known: ${values.join(', ')}.`)
  }
  return given
}

/** The arguments of a job as the log would show them. */
function filteredArguments(row: JobRow | undefined): unknown {
  return parameterFilter()(parsed(row?.['arguments']))
}

function parsed(json: unknown): unknown {
  try {
    return typeof json === 'string' ? JSON.parse(json) : null
  } catch {
    return json
  }
}

function print(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

function numbered(count: number, what: string): string {
  return `${count} ${count === 1 ? 'job is' : 'jobs are'} ${what}.`
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
