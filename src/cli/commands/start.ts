import { Command } from 'commander'
import { once } from 'node:events'
import { currentEnvironment } from '../../environment.js'
import { createLogger } from '../../logger.js'
import { onStopSignal } from '../../server/stop-signals.js'
import { workerCount } from '../../workers/worker-count.js'
import { runWorker, workerNumber } from '../../workers/worker.js'
import { enterApplication } from '../support/application-folder.js'
import { loadDatabase, loadMain } from '../support/application-modules.js'
import { buildWhenStale } from '../support/compilation.js'

interface Options {
  workers?: string
  migrate?: boolean
  fallbackEnv: string
}

/** `kit start`: the application as it runs in production. */
export function startCommand(): Command {
  return new Command('start')
    .description(
      'Builds the application when it is stale, and serves it: in production unless GO_ENV says otherwise, where it ' +
        'needs SESSION_SECRET (pages) and a database that is migrated. PORT and HOST say where it listens. SIGTERM and ' +
        'SIGINT let it finish the requests that are under way; a second one ends it at once.',
    )
    .option(
      '--workers <n>',
      'serve with n processes on one port, or as many as there are processors (auto); each that ends is followed by ' +
        'another one (WEB_CONCURRENCY, else 1)',
    )
    .option('--migrate', 'run the migrations that have not been run yet before, once')
    .option('--fallback-env <name>', 'the environment where GO_ENV and NODE_ENV name none', 'production')
    .addHelpText(
      'after',
      '\nExample:\n  $ kit start\n  $ kit start --workers auto --migrate\n  $ GO_ENV=development PORT=4000 kit start',
    )
    .action(start)
}

async function start(options: Options): Promise<void> {
  process.env['GO_ENV'] ||= process.env['NODE_ENV'] || options.fallbackEnv
  if (process.env['KIT_DEV']) {
    await standBy()
    return loadMain()
  }
  // A restarted worker runs the same build as before.
  if (workerNumber()) return runWorker(() => loadMain(false))
  const count = countOf(options)
  if (options.migrate) await migrate()
  await (count === 1 ? loadMain() : startWorkerPool(count))
}

function countOf({ workers }: Options): number {
  if (workers !== undefined) return workerCount(workers, '--workers')
  const { WEB_CONCURRENCY } = process.env
  return WEB_CONCURRENCY ? workerCount(WEB_CONCURRENCY, 'WEB_CONCURRENCY') : 1
}

async function migrate(): Promise<void> {
  const database = await loadDatabase()
  try {
    await database.open()
    const names = await database.migrate()
    const logger = createLogger(currentEnvironment())
    for (const name of names) logger.info(`migrated ${name}`)
  } finally {
    await database.close()
  }
}

/** Serves with several worker processes. The primary process loads nothing of the application. */
async function startWorkerPool(count: number): Promise<void> {
  await buildWhenStale(enterApplication())
  const { WorkerPool } = await import('../../workers/worker-pool.js')
  const logger = createLogger(currentEnvironment())
  const pool = new WorkerPool(count, logger)
  onStopSignal(
    async (signal) => {
      logger.info(`${signal}: the workers finish the requests that are under way`)
      process.exit(await pool.stop())
    },
    (status) => {
      pool.kill()
      process.exit(status)
    },
  )
  await pool.start()
}

/**
 * `kit dev` starts the next process while this one serves, so that loading the framework, which takes longest, is
 * behind it when the code changes. It then says the word.
 */
async function standBy(): Promise<void> {
  const word = once(process, 'message')
  // Where `kit dev` is gone, nobody needs us.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  await import('../../index.js')
  await word
  // Waiting for the end of `kit dev` must not keep an application alive that is closed.
  process.channel?.unref()
}
