import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command, Option } from 'commander'
import { knownTypes } from '../../generator/arguments/attribute-argument.js'
import {
  ATTRIBUTES,
  withModelArguments,
  withResourceArguments,
  type ResourceArguments,
} from '../../generator/arguments/command-line.js'
import { parseAttributes } from '../../generator/arguments/attributes.js'
import { authActions, authAdvice, type AuthOptions } from '../../generator/auth-generator.js'
import { generate, isCreate, type FileAction, type Print } from '../../generator/files/files.js'
import { jobActions, withJobArguments, type JobFlags } from '../../generator/job-generator.js'
import { localeActions } from '../../generator/locale-generator.js'
import { modelActions } from '../../generator/model-generator.js'
import { migrationActions, migrationAdvice } from '../../generator/migration-generator.js'
import { leftFiles, resourceActions } from '../../generator/resource-generator.js'
import {
  teamActions,
  teamAdvice,
  withTeamArguments,
  type TeamArguments,
} from '../../generator/team-generator.js'
import { enterApplication } from '../support/application-folder.js'
import { printTo, type Output } from '../support/output.js'

/** The options that no generated file records. */
interface WriteFlags {
  dryRun?: boolean
  force?: boolean
}

const DRY_RUN = new Option('--dry-run', 'list the files without writing them')
const FORCE = new Option('--force', 'overwrite existing files')

/** Where the subcommands write files and print. */
interface Target {
  folder: () => string
  print: Print
}

/** Functions that add the arguments and the action of a subcommand. */
const SUBCOMMANDS = { resource, model, auth, team, migration, job, locale, secret }

/**
 * `kit generate resource | model | auth | team | job | migration | locale | secret`.
 *
 * @param folder the application's folder
 */
export function generateCommand(out: Output, folder: () => string = enterApplication): Command {
  const command = new Command('generate')
    .alias('g')
    .description(
      'Generates code: a resource, a model, accounts, a team, a job, a migration or a locale. Also prints secrets.',
    )
    .addHelpText('after', '\nExample:\n  $ kit generate resource post title description:nulls.text')
  const target = { folder, print: printTo(out) }
  for (const [name, build] of Object.entries(SUBCOMMANDS)) build(command.command(name), target)
  return command
}

function resource(command: Command, { folder, print }: Target): void {
  withResourceArguments(command.alias('r'))
    .summary('generate a resource')
    .description(
      'Generates a resource: handlers, model, migration, templates, texts and specs, and adds its route to src/app.ts. ' +
        'Existing files are not overwritten. If one file cannot be written, none is.',
    )
    .addOption(DRY_RUN)
    .addOption(FORCE)
    .addHelpText('after', RESOURCE_HELP)
    .action((name: string, attributes: string[], flags: ResourceArguments & WriteFlags) => {
      const left = flags.force ? leftFiles(folder(), name, { ...flags, attributes }) : []
      write(folder(), resourceActions(folder(), name, { ...flags, attributes }), flags, print)
      reportSecrets(attributes, print)
      if (left.length > 0)
        print(`The earlier command has also written ${left.join(', ')}. Delete what you no longer need.`)
    })
}

function model(command: Command, { folder, print }: Target): void {
  withModelArguments(command.alias('m'))
    .summary('generate a model without a resource')
    .description('Generates a model, its spec and the migration for its table, without handlers and pages.')
    .addOption(DRY_RUN)
    .addOption(FORCE)
    .addHelpText('after', '\nExample:\n  $ kit generate model label name:string:unique --spec full')
    .action((name: string, attributes: string[], flags: ResourceArguments & WriteFlags) => {
      write(folder(), modelActions(folder(), name, { ...flags, attributes }), flags, print)
      reportSecrets(attributes, print)
    })
}

function auth(command: Command, { folder, print }: Target): void {
  command
    .summary('generate accounts')
    .description(
      'Generates accounts: a model of users, sign-in, sign-up, password reset by mail, and change of password and address, ' +
        'with pages, texts and complete specs. The resources in src/app.ts, and those that are generated later, become private. ' +
        'An API application gets bearer tokens instead of sessions and pages.',
    )
    .argument('[name]', 'singular name of the model', 'user')
    .option('--api', 'bearer tokens for API clients; in a web application, in addition to sessions')
    .option('--no-sign-up', 'visitors cannot sign up')
    .option('--confirm', 'visitors who sign up confirm their address by a link in a mail')
    .option('--sessions', 'add a page on which users see and end their sessions')
    .addOption(DRY_RUN)
    .addOption(FORCE)
    .addHelpText(
      'after',
      '\nExample:\n  $ kit generate auth --confirm --sessions\n  $ kit generate auth member --no-sign-up\n  $ kit generate auth --api',
    )
    .action((name: string, flags: AuthOptions & WriteFlags) => {
      write(folder(), authActions(folder(), name, flags), flags, print)
      if (flags.dryRun) return
      authAdvice(folder()).forEach(print)
      reportPrivate(folder(), print)
    })
}

function team(command: Command, { folder, print }: Target): void {
  withTeamArguments(command)
    .summary('generate a team, whose members have roles')
    .description(
      'Generates a team such as a branch or a workspace: its members and their roles, invitations by mail, policies, pages, texts and ' +
        'specs. `kit generate resource ... --owner branch` then generates records that only the members see. Needs accounts.',
    )
    .addOption(DRY_RUN)
    .addOption(FORCE)
    .addHelpText(
      'after',
      '\nExample:\n  $ kit generate team workspace\n  $ kit generate team branch --roles owner,manager,clerk,viewer --write clerk',
    )
    .action((name: string, flags: TeamArguments & WriteFlags) => {
      write(folder(), teamActions(folder(), name, flags), flags, print)
      if (flags.dryRun) return
      teamAdvice(folder()).forEach(print)
      print(`Next: \`kit db migrate\`, and \`kit generate resource\` with --owner ${name}.`)
    })
}

function migration(command: Command, { folder, print }: Target): void {
  command
    .summary('generate a migration')
    .description(
      'Generates a migration. Its content depends on its name: create_posts, add_state_to_posts, remove_state_from_posts. ' +
        'With any other name it fails with "Not Implemented!" until you have written it.',
    )
    .argument('<name>', 'name of the migration')
    .argument('[attributes...]', ATTRIBUTES)
    .addOption(DRY_RUN)
    .option('--force', 'overwrite a migration of the same name')
    .addHelpText('after', '\nExample:\n  $ kit generate migration add_state_to_posts state:enum:draft,public')
    .action((name: string, attributes: string[], flags: WriteFlags) => {
      const advice = migrationAdvice(folder(), name, attributes)
      write(folder(), migrationActions(folder(), name, attributes), flags, print)
      advice.forEach(print)
    })
}

function job(command: Command, { folder, print }: Target): void {
  withJobArguments(command.alias('j'))
    .summary('generate a background job')
    .description(
      'Generates a background job and its spec, and adds the job to src/jobs.ts. The first job also gets that file, the migration ' +
        'for the tables of jobs, and a line in src/app.ts.',
    )
    .addOption(DRY_RUN)
    .addOption(FORCE)
    .addHelpText(
      'after',
      '\nExample:\n  $ kit generate job send_digest user_id:uuid --queue urgent\n  $ kit generate job clean_up --schedule "0 3 * * *" --time-zone Europe/Berlin',
    )
    .action(async (name: string, attributes: string[], flags: JobFlags & WriteFlags) => {
      const { schedule, timeZone } = flags
      if (schedule !== undefined) {
        // Only checks the expression and the time zone.
        const { declareSchedule } = await import('../../jobs/schedules.js')
        declareSchedule(name, schedule, { ...(timeZone !== undefined && { timeZone }) })
      }
      write(folder(), jobActions(folder(), name, { ...flags, attributes }), flags, print)
    })
}

function locale(command: Command, { folder, print }: Target): void {
  command
    .summary('generate the files of a language')
    .description(
      'Generates a file for each file of English texts: the same ids with empty translations, and the English texts as ' +
        'comments. If the language already has files, it adds only the ids that they lack. `kit locales` lists what is missing.',
    )
    .argument('<language>', 'code of the language: de, fr, pt-BR')
    .addOption(DRY_RUN)
    .addHelpText('after', '\nExample:\n  $ kit generate locale de')
    .action((word: string, flags: WriteFlags) => write(folder(), localeActions(folder(), word), flags, print))
}

function secret(command: Command, { print }: Target): void {
  command
    .summary('print a secret')
    .description('Prints a secret for SESSION_SECRET: 64 random bytes.')
    .addHelpText('after', '\nExample:\n  $ SESSION_SECRET=$(kit generate secret) kit start')
    .action(() => print(randomBytes(64).toString('hex')))
}

function write(folder: string, actions: readonly FileAction[], flags: WriteFlags, print: Print): void {
  const rewritten = actions.filter((action) => isRewrittenMigration(folder, action))
  generate(folder, actions, { ...flags, print })
  for (const { path } of rewritten) {
    print(
      `An earlier version of ${path} may have been run. To run the new version, use \`kit db reset\`, which deletes all ` +
        'records, and `GO_ENV=test kit db reset` for the specs.',
    )
  }
  if (flags.dryRun) print('Nothing was written: --dry-run.')
}

/** Prints which resources need a sign-in now. */
function reportPrivate(folder: string, print: Print): void {
  const lines = readFileSync(join(folder, 'src/app.ts'), 'utf8').split('\n')
  const below = lines.slice(lines.findIndex((line) => /\.use\(requireUser\(\)\)/.test(line)))
  const resources = below.flatMap((line) => /^\w+\.resource\((\w+)\)/.exec(line)?.[1] ?? [])
  print(
    `These resources need a sign-in now: ${resources.join(', ')}. \`kit routes --public\` lists the other routes.`,
  )
  print('Next: `kit db migrate`, and `kit dev`. In development, mails are shown at /kit/mails.')
}

/** Prints how to make a secret attribute an ordinary one, because its name may have another meaning. */
function reportSecrets(attributes: readonly string[], print: Print): void {
  for (const { name } of parseAttributes(attributes).filter(({ isSecret }) => isSecret))
    print(
      `${name} is a secret: no page, form or response contains it. \`:shown\` after its type changes that.`,
    )
}

/** Whether a step changes the code of an existing migration. If that has already been run, the new version is not run. */
function isRewrittenMigration(folder: string, action: FileAction): boolean {
  if (!isCreate(action) || !action.path.startsWith('migrations/')) return false
  const file = join(folder, action.path)
  return existsSync(file) && withoutCommand(readFileSync(file, 'utf8')) !== withoutCommand(action.content)
}

/** The text of a file without the line of the command that has written it. */
function withoutCommand(text: string): string {
  return text.replace(/^\/\/ kit generate .*$/m, '')
}

const RESOURCE_HELP = `
Types: ${knownTypes.join(', ')}.
The default type is string. nulls.X is nullable: nulls.string, nulls.text, nulls.int, ...
unique and index add an index. shown: the name looks like a secret, but the attribute is visible.

Example:
  $ kit generate resource post title description:nulls.text
  $ kit generate resource comment body:text --parent post
  $ kit generate resource profile name --singular
  $ kit generate resource note text:text --owner user
  $ kit generate resource api/v1/post title --api
  $ kit generate resource page title --route publish:post --route drafts:get:collection
  $ kit g r post title state:enum:draft,public --filter state --sort title,created_at --search title
  $ kit g r article title:string:unique state:enum:draft,public author:references --spec full
  $ kit g r task title assignee:references:user reporter:references:user labels:many
  $ kit g r membership role user:references --parent project --unique project_id,user_id`
