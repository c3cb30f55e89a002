import { Command } from 'commander'
import type { App } from '../../application/application.js'
import { once } from 'node:events'
import { BuildFailed, CommandError } from '../../command-errors.js'
import { currentEnvironment } from '../../common/environment.js'
import { createLogger } from '../../logging/logger.js'
import { onStopSignal } from '../../server/signals.js'
import { workerCount } from '../../server/workers/worker-count.js'
import { runWorker, workerNumber } from '../../server/workers/worker.js'
import { enterApplication } from '../support/application-folder.js'
import { load, loadDatabase, loadMain } from '../support/application-modules.js'
import type { Database } from '../../database/database.js'
import { buildWhenStale } from '../support/compilation.js'
import { jobsOption, setJobCount } from '../support/jobs.js'

interface Options {
  workers?: string
  jobs?: string
  migrate?: boolean
  fallbackEnv: string
}

/** `kit start`: serves the application in production. */
export function startCommand(): Command {
  return new Command('start')
    .description(
      'Builds the application if it is out of date, and serves it. The environment is GO_ENV, else NODE_ENV (default: ' +
        'production). Production requires a migrated database and, for pages, SESSION_SECRET. PORT and HOST set the address. ' +
        'On SIGTERM and SIGINT it finishes pending requests and exits; a second signal makes it exit at once.',
    )
    .option(
      '--workers <n>',
      'number of processes that serve on one port, or auto for the number of processors; a process that exits is ' +
        'replaced (default: WEB_CONCURRENCY, else 1)',
    )
    .option('--jobs <n>', jobsOption)
    .option(
      '--migrate',
      'first run the pending migrations, once; other environments than production always do',
    )
    .option('--fallback-env <name>', 'environment if neither GO_ENV nor NODE_ENV is set', 'production')
    .addHelpText(
      'after',
      '\nExample:\n  $ kit start\n  $ kit start --workers auto --migrate\n  $ GO_ENV=development PORT=4000 kit start',
    )
    .action(start)
}

async function start(options: Options): Promise<void> {
  process.env['GO_ENV'] ||= process.env['NODE_ENV'] || options.fallbackEnv
  // This is a process of `kit dev`.
  if (process.env['KIT_DEV']) {
    await waitForStart()
    await loadMain()
    return reportRoutes()
  }
  // A restarted worker runs the same build as before.
  if (workerNumber()) return runWorker(() => loadMain('never'))
  const count = countOf(options)
  const slots = setJobCount(options.jobs)
  const database = await migrate(options)
  if (count === 1) return loadMain()
  await database?.close()
  await startWorkerPool(count, slots)
}

function countOf({ workers }: Options): number {
  if (workers !== undefined) return workerCount(workers, '--workers')
  const { WEB_CONCURRENCY } = process.env
  return WEB_CONCURRENCY ? workerCount(WEB_CONCURRENCY, 'WEB_CONCURRENCY') : 1
}

/**
 * Runs the pending migrations with `--migrate`, and in environments other than production.
 *
 * @returns the database, which is open, so that a single process can go on to serve with it; undefined if
 *   nothing was migrated
 */
async function migrate({ migrate: isAsked }: Options): Promise<Database | undefined> {
  if (!isAsked && currentEnvironment() === 'production') return undefined
  const database = await loadDatabase().catch((error: unknown) => {
    // An application without src/database.ts serves, too.
    if (isAsked || error instanceof BuildFailed || !(error instanceof CommandError)) throw error
    return undefined
  })
  try {
    await database?.open()
    const names = (await database?.migrate()) ?? []
    const logger = createLogger(currentEnvironment())
    for (const name of names) logger.info(`migrated ${name}`)
  } catch (error) {
    await database?.close()
    throw error
  }
  return database
}

/** Serves with several worker processes. The primary process loads nothing of the application. */
async function startWorkerPool(count: number, slots: number): Promise<void> {
  await buildWhenStale(enterApplication())
  const { WorkerPool } = await import('../../server/workers/worker-pool.js')
  const logger = createLogger(currentEnvironment())
  const pool = new WorkerPool(count, logger, slots)
  onStopSignal(
    async (signal) => {
      logger.info(`${signal}: the workers are finishing the pending requests`)
      process.exit(await pool.stop())
    },
    (status) => {
      pool.kill()
      process.exit(status)
    },
  )
  await pool.start()
}

/** Sends the names of the routes to `kit dev`, which writes them. */
async function reportRoutes(): Promise<void> {
  const { routeTypes } = await import('../support/route-types.js')
  const app = await load<App>('src/app', 'app', 'never').catch((error: unknown) => {
    // An application without src/app.ts serves, too.
    if (!(error instanceof CommandError)) throw error
  })
  if (app) process.send?.({ routes: routeTypes(app) })
}

/**
 * Loads the framework, and waits for the message to start the application. `kit dev` forks this process
 * before the code changes, because loading the framework takes longest.
 */
async function waitForStart(): Promise<void> {
  const message = once(process, 'message')
  // Without `kit dev`, this process is not needed.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  await import('../../index.js')
  await message
  // The connection to `kit dev` must not keep a closed application alive.
  process.channel?.unref()
}
