import { Command } from 'commander'
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { CommandError } from '../../command-errors.js'
import { noteCommand } from '../../common/command.js'
import { enterApplication } from '../support/application-folder.js'
import { importModule, usingDatabase } from '../support/application-modules.js'

/** `kit run FILE`: runs a file of the application with its database open. */
export function runCommand(): Command {
  return new Command('run')
    .description(
      'Runs a TypeScript file of src, for example a nightly job, with the database of the environment (GO_ENV, default: ' +
        'development) open. Write `await` where the file must wait, also outside of functions. At the end it closes the database. The exit ' +
        'status is process.exitCode, or 1 if the file throws an error.',
    )
    .argument('<file>', 'file in src: src/jobs/nightly.ts')
    .argument('[args...]', 'arguments of the file: process.argv.slice(2)')
    .allowUnknownOption()
    .addHelpText(
      'after',
      '\nExample:\n  $ kit run src/jobs/nightly.ts\n  $ GO_ENV=production kit run src/jobs/export.ts 2026',
    )
    .action(run)
}

async function run(file: string, args: readonly string[]): Promise<void> {
  const path = resolve(file)
  const module = moduleOf(path, enterApplication())
  noteCommand(`kit run ${module}.ts`)
  await usingDatabase(async (database) => {
    await database.open()
    process.argv = [process.execPath, path, ...args]
    // `usingDatabase` has already built the application.
    await importModule(module, 'never')
  })
}

/** The name of a module: `src/jobs/nightly`. */
function moduleOf(path: string, root: string): string {
  const name = relative(root, path)
  if (!/^src[/\\].+\.ts$/.test(name)) {
    throw new CommandError(`${name} isn't a TypeScript file in src/. Use a file like src/jobs/nightly.ts.`)
  }
  if (!existsSync(join(root, name))) throw new CommandError(`There is no ${name} in ${root}.`)
  return name.slice(0, -'.ts'.length)
}
