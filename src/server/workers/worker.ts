import cluster from 'node:cluster'
import { readMessage, reportToPrimary, type PrimaryMessage } from './messages.js'

/** The environment variable with the number of a worker process. */
export const numberVariable = 'KIT_WORKER'

/** Without a channel to the primary process, the variable was inherited from elsewhere. */
const number = process.connected ? Number(process.env[numberVariable]) || undefined : undefined
// Child processes of a worker must not inherit its number.
delete process.env[numberVariable]

/** The number of this worker process, from 1; undefined in an application with a single process. */
export function workerNumber(): number | undefined {
  return number
}

/**
 * Runs the application in a worker process. When the primary process disappears, the worker shuts down
 * gracefully.
 *
 * @param load loads `src/main.ts`
 */
export async function runWorker(load: () => Promise<void>): Promise<void> {
  // Without this, node:cluster would end the worker at once.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  await load()
  reportToPrimary({ kit: 'loaded' })
}

/** Calls a function when another worker has enqueued a background job. */
export function onWake(wake: () => void): void {
  if (workerNumber() === undefined) return
  process.on('message', (value) => {
    if (readMessage<PrimaryMessage>(value)?.kit === 'wake') wake()
  })
  // The listener must not keep a closed application alive.
  process.channel?.unref()
}
