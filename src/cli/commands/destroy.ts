import type { Readable } from 'node:stream'
import { Command } from 'commander'
import { CommandError } from '../../command-errors.js'
import { destroy } from '../../generator/files/files.js'
import { authDestruction } from '../../generator/auth-generator.js'
import { jobDestruction } from '../../generator/job-generator.js'
import { localeDestruction } from '../../generator/locale-generator.js'
import type { Destruction, HasRun } from '../../generator/destruction.js'
import { modelDestruction } from '../../generator/model-generator.js'
import { resourceDestruction } from '../../generator/resource-generator.js'
import { teamDestruction } from '../../generator/team-generator.js'
import { enterApplication } from '../support/application-folder.js'
import { hasRun as hasRunMigration } from '../support/has-run.js'
import { printTo, type Output } from '../support/output.js'
import { Questions } from '../support/questions.js'

/** The dependencies of `kit destroy`, besides its output. */
export interface DestroySettings {
  /** The application's folder. */
  folder?: () => string
  /** The source of the answers (standard input). */
  input?: Readable
  /** Whether a migration has been run. By default the application's database is queried. */
  hasRun?: HasRun
}

/** Returns the steps that a subcommand undoes. Only `kit destroy auth` can lack the name. */
type Undo = (folder: string, name: string, hasRun: HasRun) => Destruction

const ASKS =
  'Asks a question for each file before it deletes any. A script can send the answers to the standard input.'

/** `kit destroy resource | model | auth | team | job | locale`. */
export function destroyCommand(out: Output, settings: DestroySettings = {}): Command {
  const command = new Command('destroy')
    .alias('d')
    .description('Deletes generated files.')
    .addHelpText('after', '\nExample:\n  $ kit destroy resource post')
  const add = adder(command, out, settings)
  add('resource', resourceDestruction)
    .alias('r')
    .summary('delete the files of a resource')
    .description(
      `Deletes the files of \`kit generate resource\`, and the route in src/app.ts. ${ASKS} Reports edited files, and a migration that has been run.`,
    )
    .argument('<name>', 'singular name: post, blog_post, admin/widget')
    .addHelpText('after', '\nExample:\n  $ kit destroy resource post\n  $ kit d r admin/widget -y')
  add('model', modelDestruction)
    .alias('m')
    .summary('delete the files of a model without a resource')
    .description(
      `Deletes the files of \`kit generate model\`. ${ASKS} Reports edited files, files that need the model, and a migration that has been run.`,
    )
    .argument('<name>', 'singular name: label, blog_label')
    .addHelpText('after', '\nExample:\n  $ kit destroy model label')
  add('auth', authDestruction)
    .summary('delete the files of accounts')
    .description(
      `Deletes the files of \`kit generate auth\`, and its lines in src/app.ts and templates/layout.pug. ${ASKS} Refuses while another file uses the model of users.`,
    )
    .argument('[name]', 'singular name of the model, which the command also finds itself')
    .addHelpText('after', '\nExample:\n  $ kit destroy auth')
  add('team', teamDestruction)
    .summary('delete the files of a team')
    .description(
      `Deletes the files of \`kit generate team\`, and its lines in other files. ${ASKS} Refuses while another file uses the team, ` +
        'for example that of a resource with --owner.',
    )
    .argument('<name>', 'singular name of the team: branch')
    .addHelpText('after', '\nExample:\n  $ kit destroy team branch')
  add('job', jobDestruction)
    .alias('j')
    .summary('delete the files of a background job')
    .description(
      `Deletes the files of \`kit generate job\`, and its lines in src/jobs.ts. With the last job, also that file, the migration and the line in src/app.ts. ${ASKS}`,
    )
    .argument('<name>', 'name of the job: send_digest')
    .addHelpText('after', '\nExample:\n  $ kit destroy job send_digest')
  add('locale', localeDestruction)
    .summary('delete the files of a language')
    .description(
      `Deletes the files of a language in the folder locales. ${ASKS} Reports files that contain translations.`,
    )
    .argument('<language>', 'code of the language: de, fr, pt-BR')
    .addHelpText('after', '\nExample:\n  $ kit destroy locale de')
  return command
}

/** Returns a function that adds a subcommand, which undoes the steps of a generator that are confirmed. */
function adder(command: Command, out: Output, settings: DestroySettings) {
  const { folder = enterApplication, input = process.stdin, hasRun = hasRunMigration } = settings
  return (generator: string, destructionOf: Undo): Command => {
    const sub = command.command(generator).option('-y, --yes', 'answer yes to every question')
    return sub.action(async (name: string, { yes }: { yes?: boolean }) => {
      const { actions, remark } = destructionOf(folder(), name, hasRun)
      const questions = new Questions(input, out)
      const confirm = yes ? () => Promise.resolve(true) : (question: string) => questions.confirm(question)
      const isFound = await destroy(folder(), actions, { confirm, remark, print: printTo(out) }).finally(
        () => yes || questions.close(),
      )
      const kind = generator === 'auth' ? 'model' : generator
      if (!isFound)
        throw new CommandError(`No ${kind} has the name "${name ?? 'user'}": none of its files exist.`)
    })
  }
}
