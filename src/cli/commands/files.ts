import { Command } from 'commander'
import type { App } from '../../application/application.js'
import { CommandError } from '../../command-errors.js'
import type { StoredFiles } from '../../files/index.js'
import { load } from '../support/application-modules.js'
import { toJson } from '../support/output.js'

interface Options {
  json?: boolean
}

const json = ['--json', 'print JSON'] as const

/** `kit files`: counts the stored files, deletes those without a record, and compares them with the store. */
export function filesCommand(): Command {
  const command = new Command('files')
    .description(
      'Prints the number of stored files that records have, the number of those that no record has yet or any more, and the bytes ' +
        'of all. The environment is GO_ENV (default: development).',
    )
    .option(...json)
    .addHelpText('after', '\nExample:\n  $ kit files\n  $ kit files sweep\n  $ kit files check --json')
    .action((options: Options) => withFiles((files) => count(files, options)))
  command
    .command('sweep')
    .summary('delete the files that no record has, and whose time is over')
    .description(
      'Deletes the files that no record has, and whose time is over. A serving process does so every hour.',
    )
    .action(() => withFiles(sweep))
  command
    .command('check')
    .summary('find files without bytes, and bytes without a file')
    .description('Finds files without bytes, and bytes without a file. If there are any, the exit code is 1.')
    .option(...json)
    .action(() => withFiles((files) => check(files, command.commands[1]?.optsWithGlobals() ?? {})))
  return command
}

/** @throws CommandError when the application stores no files */
async function withFiles(run: (files: StoredFiles) => Promise<string>): Promise<void> {
  const app: App = await load('src/app', 'app', 'required')
  const { storedFiles } = await import('../../files/index.js')
  const files = app.extension(storedFiles)
  if (!files)
    throw new CommandError(
      'The application stores no files. Generate an attribute (`kit generate resource item photo:image`), or add ' +
        'app.extend(files) to src/app.ts.',
    )
  const { checkFiles } = await import('../../files/checks.js')
  try {
    await checkFiles(files.internal, app.logger)
    console.log(await run(files))
  } finally {
    await app.close()
  }
}

async function count(files: StoredFiles, options: Options): Promise<string> {
  const counts = await files.internal.table.count()
  if (options.json) return toJson(counts)
  return `${filesText(counts.kept)} of records, ${filesText(counts.unused)} without a record, ${counts.bytes} bytes.`
}

async function sweep(files: StoredFiles): Promise<string> {
  const { files: count, bytes } = await files.sweep()
  return `${filesText(count)} deleted, ${bytes} bytes.`
}

async function check(files: StoredFiles, options: Options): Promise<string> {
  const { checkStore } = await import('../../files/check-store.js')
  const { missing, unknown } = await checkStore(files.internal)
  if (missing.length + unknown.length > 0) process.exitCode = 1
  if (options.json) return toJson({ missing, unknown })
  return [
    ...missing.map(({ id, key, filename }) => `missing: ${id} ${key} ${filename}`),
    ...unknown.map((key) => `unknown: ${key}`),
    `${filesText(missing.length)} without bytes, ${filesText(unknown.length)} without a row.`,
  ].join('\n')
}

function filesText(count: number): string {
  return `${count} ${count === 1 ? 'file' : 'files'}`
}
