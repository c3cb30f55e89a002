import type { Command } from 'commander'
import { camelize } from 'inflection'
import { CommandError } from '../command-errors.js'
import { agentsStep, paragraphs } from './agents.js'
import { modelFiles, readApplication, textOf } from './application.js'
import { parseAttributes, type Attribute } from './arguments/attributes.js'
import { commandLine, recordedCommand } from './arguments/command-line.js'
import { SOURCES } from './arguments/kinds.js'
import { nameOf } from './arguments/names.js'
import { destructionOf, type Destruction, type HasRun } from './destruction.js'
import type { EditFile, FileAction } from './files/files.js'
import { addImport, editLines, importing, insertion } from './files/insertion.js'
import { breakLongLines, onOneLine, quote } from './files/lines.js'
import { migrationNames } from './migration-names.js'
import { applicationName } from './files/registration.js'
import { filesOfScaffolds, renderFiles } from './files/templates.js'

/** The options of `kit generate job`. */
export interface JobFlags {
  queue?: string
  schedule?: string
  timeZone?: string
}

/** The arguments of `kit generate job`, except for the name. */
export interface JobGeneratorOptions extends JobFlags {
  attributes?: readonly string[]
  /** The time of the migration. */
  now?: Date
}

/** Adds the arguments and options of `kit generate job` to a command. */
export function withJobArguments(command: Command): Command {
  return command
    .argument('<name>', 'name of the job: send_digest')
    .argument('[arguments...]', 'name or name:type, the members of its argument')
    .option('--queue <name>', 'queue of the job')
    .option('--schedule <expression>', 'cron expression: "0 6 * * 1"')
    .option('--time-zone <name>', 'time zone of the schedule: Europe/Berlin')
}

const listFile = 'src/jobs.ts'

/**
 * Returns the steps that generate a job: its class and its spec. The first job also gets src/jobs.ts and the migration.
 *
 * @throws CommandError when the name or an argument is malformed, or for --time-zone without --schedule
 */
export function jobActions(folder: string, word: string, options: JobGeneratorOptions = {}): FileAction[] {
  return actionsOf(folder, word, options, textOf(folder, listFile) === undefined)
}

/**
 * Returns the steps that `kit destroy` undoes: those of the original command, and those of the first job if this is the last.
 *
 * @throws CommandError when the name is malformed
 */
export function jobDestruction(folder: string, word: string, hasRun?: HasRun): Destruction {
  const { job } = namesOf(word)
  const jobs = jobsIn(textOf(folder, listFile) ?? '')
  const isLast = jobs.length === 1 && jobs[0] === job
  return destructionOf(folder, actionsOf(folder, word, recordedOptions(folder, word), isLast), hasRun)
}

function actionsOf(
  folder: string,
  word: string,
  options: JobGeneratorOptions,
  isFirst: boolean,
): FileAction[] {
  const app = applicationName(readApplication(folder)) ?? 'app'
  const { name, job } = namesOf(word)
  const { queue, schedule, timeZone, attributes: words = [] } = options
  if (timeZone !== undefined && schedule === undefined)
    throw new CommandError('--time-zone is for a job with --schedule. Add --schedule, or remove --time-zone.')
  if (queue !== undefined && !/^[\w-]+$/.test(queue))
    throw new CommandError(`--queue "${queue}" isn't the name of a queue. Use letters, digits, _ and -.`)
  const attributes = parseAttributes(words)
  const file = attributes.find((attribute) => attribute.file)
  if (file)
    throw new CommandError(
      `The arguments of a job are JSON, which has no files. Pass an id instead of ${file.name}.`,
    )
  // A model of this name has the `jobs` table.
  const prefix = modelFiles(folder).includes('job') ? 'background_' : ''
  const { file: migration, className: migrationClass } = migrationNames(
    folder,
    `create_${prefix}jobs`,
    options.now,
  )
  const sample = `{${attributes.map((it) => ` ${it.name}: ${it.isList ? `[${it.samples.json}]` : it.samples.json}`).join(',')}${attributes.length > 0 ? ' ' : ''}}`
  const scheduleMembers = [
    timeZone && `timeZone: ${quote(timeZone)}`,
    attributes.length > 0 && `arguments: ${sample}`,
  ].filter(Boolean)
  const locals = {
    name,
    job,
    queue,
    schedule,
    prefix,
    migrationClass,
    members: attributes.map((attribute) => `${attribute.name}: ${typeOf(attribute)}`),
    sample,
    command: commandLine('job', [name, ...words], withJobArguments, { ...options }),
    imports: [schedule ? 'Job, Schedule' : 'Job', 'type JobContext'].join(', '),
    scheduleOptions: scheduleMembers.length > 0 ? `, { ${scheduleMembers.join(', ')} }` : '',
    parameters: `${parameterOf(attributes, job)}, job: JobContext`,
    queues: [...new Set([queue ?? 'default', 'default'])].map(quote).join(', '),
    tableOptions: prefix && `, { prefix: ${quote(prefix)} }`,
  }
  const scaffolds = ['job/job', ...(isFirst ? ['job/first'] : [])]
  const files = renderFiles(folder, filesOfScaffolds(scaffolds), { name, migration }, locals)
  return [
    ...files,
    ...(isFirst ? [...setUp(app), ...agentsStep(folder, paragraphs.jobs)] : [registration(name, job, queue)]),
  ]
}

/** The parameter of `perform`: `{ user_id }: { user_id: string }`. */
function parameterOf([first, ...others]: readonly Attribute[], job: string): string {
  if (!first) return '_args: object'
  if (others.length > 0) return `args: ${job}Arguments`
  return `{ ${first.name} }: { ${first.name}: ${typeOf(first)} }`
}

/** The type of an argument, which JSON can carry. */
function typeOf({ kind, isNullable, isList, values }: Attribute): string {
  const type = { ...SOURCES[kind], ...(kind === 'datetime' && { type: 'string' }) }.type
  const own = kind === 'enum' ? values.map(quote).join(' | ') : kind === 'json' ? 'object' : type
  return isList ? `${own}[]` : isNullable ? `${own} | null` : own
}

function namesOf(word: string): { name: string; job: string } {
  const name = nameOf('job', word, 'send_digest')
  if (['job', 'job_context', 'schedule'].includes(name))
    throw new CommandError(
      `A job cannot be named "${word}", because its file imports ${camelize(name)} from resource-kit. Choose another name.`,
    )
  return { name, job: camelize(name) }
}

/** The steps that add the queue to src/app.ts. */
function setUp(app: string): FileAction[] {
  const lines = [
    '',
    '// Lets handlers enqueue background jobs, and runs them: ctx.enqueue.',
    `${app}.extend(jobs)`,
  ]
  return [
    importing('src/app.ts', [['jobs', './jobs.js']]),
    insertion('src/app.ts', 'the jobs', [{ lines, place: 'after the transaction' }]),
  ]
}

/** The step that adds a further job, and its queue, to src/jobs.ts. */
function registration(name: string, job: string, queue: string | undefined): EditFile {
  const from = `./jobs/${name}.js`
  return {
    path: listFile,
    what: job,
    insert: (text) => {
      const imported = editLines(text, (lines) => addImport(lines, job, from))
      const added = withMembers(imported, 'jobs', (jobs) => [...new Set([...jobs, job])])
      return withMembers(added, 'queues', (queues) =>
        queue && !queues.includes(quote(queue)) ? [quote(queue), ...queues] : queues,
      )
    },
    remove: (text) => {
      if (!jobsIn(text).includes(job)) return text
      const rest = editLines(text, (lines) => lines.filter((line) => !line.startsWith(`import { ${job} }`)))
      return withMembers(rest, 'jobs', (jobs) => jobs.filter((one) => one !== job))
    },
    leftover: (text) =>
      text.includes(from) ? `${listFile} still imports ${job}. Remove it yourself.` : undefined,
  }
}

/** Changes the members of a list in the options of `jobQueue`. */
function withMembers(text: string, option: string, edit: (members: string[]) => string[]): string {
  const changed = text.replace(listPattern(option), (_list, members: string) => {
    return `${option}: [${edit(membersOf(members)).join(', ')}]`
  })
  return changed.replace(/^.*jobQueue\(database, \{[^}]*\}\)/m, (call) => breakLongLines(onOneLine(call)))
}

function jobsIn(text: string): string[] {
  return membersOf(listPattern('jobs').exec(text)?.[1] ?? '')
}

function listPattern(option: string): RegExp {
  return new RegExp(`\\b${option}: \\[([^\\]]*)\\]`)
}

function membersOf(list: string): string[] {
  return list.split(',').flatMap((one) => one.trim() || [])
}

/** Reads the options that are recorded in the file of a job. */
function recordedOptions(folder: string, word: string): JobGeneratorOptions {
  const text = textOf(folder, `src/jobs/${namesOf(word).name}.ts`) ?? ''
  const command = recordedCommand(text, 'job', withJobArguments)
  return { ...command?.opts<JobFlags>(), attributes: command?.args.slice(1) ?? [] }
}
