import cluster from 'node:cluster'
import { tellPrimary } from './messages.js'

/** The variable that tells a process which worker it is. */
export const numberVariable = 'KIT_WORKER'

const number = process.connected ? Number(process.env[numberVariable]) || undefined : undefined
// The programs that a worker starts are none.
delete process.env[numberVariable]

/** Which of the workers of an application this process is, from 1; undefined when it serves alone. */
export function workerNumber(): number | undefined {
  return number
}

/** Runs what a worker is there for. When the process that has started it is gone, it finishes what it does, and ends. */
export async function work(load: () => Promise<void>): Promise<void> {
  // Or node:cluster would end it at once.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  await load()
  tellPrimary({ kit: 'loaded' })
}
