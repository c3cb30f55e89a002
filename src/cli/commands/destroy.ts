import type { Readable } from 'node:stream'
import { Command } from 'commander'
import { NothingToDestroy } from '../../command-errors.js'
import { destroy } from '../../generator/files/files.js'
import { authDestruction } from '../../generator/auth-generator.js'
import { jobDestruction } from '../../generator/job-generator.js'
import { localeDestruction } from '../../generator/locale-generator.js'
import type { Destruction, HasRun } from '../../generator/destruction.js'
import { modelDestruction } from '../../generator/model-generator.js'
import { resourceDestruction } from '../../generator/resource-generator.js'
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

interface Flags {
  yes?: boolean
}

const ASKS =
  'Asks a question for each file before it deletes any. A script can send the answers to the standard input.'

/** `kit destroy resource | model | auth | job | locale`. */
export function destroyCommand(out: Output, settings: DestroySettings = {}): Command {
  const { folder = enterApplication, input = process.stdin, hasRun = hasRunMigration } = settings
  const command = new Command('destroy')
    .alias('d')
    .description('Deletes generated files.')
    .addHelpText('after', '\nExample:\n  $ kit destroy resource post')
  const below = (name: string) => command.command(name).option('-y, --yes', 'answer yes to every question')
  below('resource')
    .alias('r')
    .summary('delete the files of a resource')
    .description(
      `Deletes the files of \`kit generate resource\`, and the route in src/app.ts. ${ASKS} Reports edited files, and a migration that has been run.`,
    )
    .argument('<name>', 'singular name: post, blog_post, admin/widget')
    .addHelpText('after', '\nExample:\n  $ kit destroy resource post\n  $ kit d r admin/widget -y')
    .action((name: string, flags: Flags) =>
      undo(resourceDestruction(folder(), name, hasRun), flags, new NothingToDestroy(name)),
    )
  below('model')
    .alias('m')
    .summary('delete the files of a model without a resource')
    .description(
      `Deletes the files of \`kit generate model\`. ${ASKS} Reports edited files, files that need the model, and a migration that has been run.`,
    )
    .argument('<name>', 'singular name: label, blog_label')
    .addHelpText('after', '\nExample:\n  $ kit destroy model label')
    .action((name: string, flags: Flags) =>
      undo(modelDestruction(folder(), name, hasRun), flags, new NothingToDestroy(name, 'model')),
    )
  below('auth')
    .summary('delete the files of accounts')
    .description(
      `Deletes the files of \`kit generate auth\`, and its lines in src/app.ts and templates/layout.pug. ${ASKS} Refuses while another file uses the model of users.`,
    )
    .argument('[name]', 'singular name of the model, which the command also finds itself')
    .addHelpText('after', '\nExample:\n  $ kit destroy auth')
    .action((name: string | undefined, flags: Flags) =>
      undo(authDestruction(folder(), name, hasRun), flags, new NothingToDestroy(name ?? 'user', 'model')),
    )
  below('job')
    .alias('j')
    .summary('delete the files of a background job')
    .description(
      'Deletes the files of `kit generate job`, and its lines in src/jobs.ts. With the last job, also that file, the migration and ' +
        'the line in src/app.ts. Asks for each of them before it deletes any; the answers can come from a pipe.',
    )
    .argument('<name>', 'name of the job: send_digest')
    .addHelpText('after', '\nExample:\n  $ kit destroy job send_digest')
    .action((name: string, flags: Flags) =>
      undo(jobDestruction(folder(), name, hasRun), flags, new NothingToDestroy(name, 'job')),
    )
  below('locale')
    .summary('delete the files of a language')
    .description(
      `Deletes the files of a language in the folder locales. ${ASKS} Reports files that contain translations.`,
    )
    .argument('<language>', 'code of the language: de, fr, pt-BR')
    .addHelpText('after', '\nExample:\n  $ kit destroy locale de')
    .action((language: string, flags: Flags) => undo(localeDestruction(folder(), language), flags))
  return command

  /** Undoes the confirmed steps, and throws an error if there was nothing to undo. */
  async function undo({ actions, remark }: Destruction, { yes }: Flags, absent?: Error): Promise<void> {
    const questions = new Questions(input, out)
    const confirm = yes ? () => Promise.resolve(true) : (question: string) => questions.confirm(question)
    try {
      const isFound = await destroy(folder(), actions, { confirm, remark, print: printTo(out) })
      if (!isFound && absent) throw absent
    } finally {
      if (!yes) await questions.close()
    }
  }
}
