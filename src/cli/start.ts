import { Command } from 'commander'
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
  if (process.env['KIT_DEV']) endWithParent()
  await loadMain()
}

/** `kit dev` has started us: where it is gone, nobody needs us. */
function endWithParent(): void {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  // Waiting for that must not keep the process alive.
  process.channel?.unref()
}
