import { Command } from 'commander'
import { CommandError } from '../../command-errors.js'
import { runWorker, workerNumber } from '../../server/workers/worker.js'
import { jobsOption, loadQueue, setJobCount } from '../support/jobs.js'

interface Options {
  jobs?: string
  queues?: string
  untilEmpty?: boolean
}

/** `kit work`: runs background jobs. */
export function workCommand(): Command {
  return new Command('work')
    .description(
      'Runs the background jobs of the application, and no server. The environment is GO_ENV, else NODE_ENV (default: ' +
        'production). On SIGTERM and SIGINT it finishes the running jobs and exits; a second signal makes it exit at once.',
    )
    .option('--jobs <n>', jobsOption)
    .option('--queues <names>', 'only these queues, separated by commas, the most urgent first')
    .option('--until-empty', 'exit when no job is due')
    .addHelpText(
      'after',
      '\nExample:\n  $ kit work\n  $ kit work --jobs 1 --queues reports\n  $ kit work --until-empty',
    )
    .action(work)
}

async function work({ jobs, queues, untilEmpty = false }: Options): Promise<void> {
  process.env['GO_ENV'] ||= process.env['NODE_ENV'] || 'production'
  const slots = setJobCount(jobs)
  if (slots === 0) throw new CommandError('`kit work` runs no jobs with 0. Set --jobs or JOBS to 1 or more.')
  const names = queues?.split(',').map((name) => name.trim())
  const options = { slots, untilEmpty, ...(names && { queues: names }) }
  // A process of `kit start --workers` runs the same build as the others.
  if (workerNumber()) return runWorker(() => run('never', options))
  await run('required', options)
}

async function run(
  build: 'required' | 'never',
  options: { slots: number; untilEmpty: boolean; queues?: string[] },
): Promise<void> {
  const { app, queue } = await loadQueue(build)
  await app.run()
  // Without --until-empty, the worker runs until a signal closes the application.
  let closesAtEnd = true
  try {
    const { ended } = await queue.internal.work(options)
    closesAtEnd = options.untilEmpty
    if (closesAtEnd) await ended
  } finally {
    if (closesAtEnd) await app.close()
  }
}
