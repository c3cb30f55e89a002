import type { App } from '../../application/application.js'
import { CommandError } from '../../command-errors.js'
import type { JobQueue } from '../../jobs/index.js'
import { load } from './application-modules.js'

/**
 * Loads the application of this folder, and its job queue.
 *
 * @throws CommandError when the application has no job queue
 */
export async function loadQueue(
  build: 'required' | 'never' = 'required',
): Promise<{ app: App; queue: JobQueue }> {
  const app: App = await load('src/app', 'app', build)
  const { jobQueue } = await import('../../jobs/index.js')
  const queue = app.extension(jobQueue)
  if (queue) return { app, queue }
  throw new CommandError(
    'The application has no jobs. Generate one (`kit generate job send_digest`), or add app.extend(jobs) to src/app.ts.',
  )
}

/** The description of the `--jobs` option. */
export const jobsOption =
  'number of background jobs that run at a time, or 0 for none (default: JOBS, else 5)'

/**
 * Sets the number of jobs for this process and its children.
 *
 * @returns the number
 * @throws CommandError when it isn't a number from 0 to 999
 */
export function setJobCount(given: string | undefined): number {
  const text = given ?? process.env['JOBS'] ?? '5'
  const source = given === undefined ? 'JOBS' : '--jobs'
  if (!/^\d{1,3}$/.test(text))
    throw new CommandError(`${source} is "${text}". Set it to a number of jobs from 0 to 999.`)
  process.env['JOBS'] = text
  return Number(text)
}
