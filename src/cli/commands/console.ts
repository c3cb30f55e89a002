import { Command } from 'commander'
import { once } from 'node:events'
import { start } from 'node:repl'
import type { App } from '../../application.js'
import type { Database } from '../../data/database.js'
import { loadApp, loadDatabase } from '../support/application-modules.js'

/** `kit console`: JavaScript with the application at hand. */
export function consoleCommand(): Command {
  return new Command('console')
    .description(
      'Evaluates JavaScript line by line, with `app`, `database` and every model at hand. `await` works. It reads ' +
        'from a pipe, too, and then ends with status 1 when a line has thrown an error.',
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ kit console\n  > await database.manager.find(Post)\n  > app.pathFor("postsPath")',
    )
    .action(talk)
}

async function talk(): Promise<void> {
  const database = await loadDatabase()
  const app = await loadApp()
  await database.open()
  try {
    await evaluate(app, database)
  } finally {
    await database.close()
  }
}

async function evaluate(app: App, database: Database): Promise<void> {
  const models = database.entityMetadatas.map(({ target, name }) => [name, target] as const)
  const { isTTY } = process.stdin
  if (isTTY) console.log(`At hand: app, database, ${models.map(([name]) => name).join(', ')}`)
  const repl = start({ prompt: isTTY ? '> ' : '' })
  Object.assign(repl.context, { app, database }, Object.fromEntries(models))
  await once(repl, 'exit')
  // Node keeps the last error of a line there.
  if (!isTTY && repl.context['_error'] !== undefined) process.exitCode ??= 1
}
