import type { App } from '../../application/application.js'
import { CommandError } from '../../command-errors.js'
import type { JobQueue } from '../../jobs/index.js'
import { load } from './application-modules.js'

/**
 * Loads the application of this folder, and its job queue.
 *
 * @throws CommandError when it has none
 */
export async function loadQueue(
  build: 'required' | 'never' = 'required',
): Promise<{ app: App; queue: JobQueue }> {
  const app: App = await load('src/app', 'app', build)
  const { jobQueue } = await import('../../jobs/index.js')
  const queue = app.uses(jobQueue)
  if (queue) return { app, queue }
  throw new CommandError(
    'The application has no jobs. Generate one (`kit generate job send_digest`), or add app.use(jobs) to src/app.ts.',
  )
}
