import { Command } from 'commander'
import { once } from 'node:events'
import { loadMain } from './application-modules.js'

/** `kit start`: the application as it runs in production. */
export function startCommand(): Command {
  return new Command('start')
    .description(
      'Builds the application when it is stale, and serves it: in production unless GO_ENV says otherwise, where it ' +
        'needs SESSION_SECRET (pages) and a database that is migrated. PORT and HOST say where it listens.',
    )
    .addHelpText('after', '\nExample:\n  $ kit start\n  $ GO_ENV=development PORT=4000 kit start')
    .action(start)
}

async function start(): Promise<void> {
  process.env['GO_ENV'] ||= process.env['NODE_ENV'] || 'production'
  if (process.env['KIT_DEV']) await standBy()
  await loadMain()
}

/**
 * `kit dev` starts the next process while this one serves, so that loading the framework, which takes longest, is
 * behind it when the code changes. It then says the word.
 */
async function standBy(): Promise<void> {
  const word = once(process, 'message')
  // Where `kit dev` is gone, nobody needs us.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  await import('../index.js')
  await word
  // Waiting for the end of `kit dev` must not keep an application alive that is closed.
  process.channel?.unref()
}
