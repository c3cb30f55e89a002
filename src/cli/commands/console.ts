import { Command } from 'commander'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { start, type REPLServer } from 'node:repl'
import { PassThrough, type Readable } from 'node:stream'
import { noteCommand } from '../../common/command.js'
import type { Database } from '../../database/database.js'
import { loadApp, usingDatabase } from '../support/application-modules.js'

/** `kit console`: evaluates JavaScript with the application loaded. */
export function consoleCommand(): Command {
  return new Command('console')
    .description(
      'Evaluates the JavaScript that you type, with the variables `app` and `database` and every model. You can use `await`. ' +
        'A script can send lines to the standard input; then the exit status is 1 if a line throws an error.',
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ kit console\n  > await database.manager.find(Post)\n  > app.pathFor("postsPath")',
    )
    .action(() => usingDatabase(evaluate))
}

async function evaluate(database: Database): Promise<void> {
  noteCommand('kit console')
  const app = await loadApp()
  await database.open()
  const models = database.entityMetadatas.map(({ target, name }) => [name, target] as const)
  const { stdin, stdout } = process
  const lines = new PassThrough()
  if (stdin.isTTY) console.log(`Variables: app, database, ${models.map(([name]) => name).join(', ')}`)
  const repl = stdin.isTTY
    ? start({ prompt: '> ' })
    : start({ prompt: '', input: lines, output: stdout, terminal: false })
  // The REPL's own Date is of another realm: TypeORM, which asks for instanceof Date, would not store its times.
  Object.assign(repl.context, { app, database, Date }, Object.fromEntries(models))
  const exited = once(repl, 'exit')
  if (!stdin.isTTY) await pass(stdin, lines, repl, exited)
  await exited
  // In this variable, Node stores the last error that a line has thrown.
  if (!stdin.isTTY && repl.context['_error'] !== undefined) process.exitCode ??= 1
}

/**
 * Passes each line to the REPL after the line before has been evaluated. Unless it reads from a terminal,
 * Node would evaluate a line without waiting for what the line before awaits.
 */
async function pass(
  input: Readable,
  lines: PassThrough,
  repl: REPLServer,
  exited: Promise<unknown>,
): Promise<void> {
  for await (const line of createInterface({ input })) {
    const evaluated = new Promise<'prompt'>((resolve) => {
      // The REPL calls this method when it expects the next line.
      repl.displayPrompt = () => resolve('prompt')
    })
    lines.write(`${line}\n`)
    if ((await Promise.race([evaluated, exited])) !== 'prompt') return
  }
  repl.close()
}
