import { constants } from 'node:os'
import type { Logger } from 'pino'

const signals = ['SIGTERM', 'SIGINT'] as const

/**
 * Ctrl-C in a terminal sends SIGINT to npm and to this process, and npm forwards its own signal. A second
 * signal within these milliseconds is the forwarded one, and is ignored.
 */
const duplicateWithin = 300

/**
 * Calls `stop` when the process should stop: on SIGTERM or SIGINT, or when the `npm start` that started it
 * has ended. A second signal calls `exit`.
 *
 * @param exit receives the status that shells use for a process that a signal has ended: 128 and the signal's
 *   number
 * @returns a function that removes the signal handlers
 */
export function onStopSignal(
  stop: (signal: NodeJS.Signals) => unknown,
  exit: (status: number) => unknown = process.exit,
): () => void {
  let first: number | undefined
  const receive = (signal: NodeJS.Signals): void => {
    if (first === undefined) {
      stopWatching()
      first = performance.now()
      stop(signal)
    } else if (performance.now() - first > duplicateWithin) exit(128 + constants.signals[signal])
  }
  const stopWatching = watchNpm(() => receive('SIGTERM'))
  for (const signal of signals) process.on(signal, receive)
  return () => {
    stopWatching()
    for (const signal of signals) process.off(signal, receive)
  }
}

/**
 * Calls `onEnd` when the shell between npm and this process has ended: npm sends SIGTERM to that shell, which
 * does not forward it. The parent of this process is another one then.
 *
 * @returns a function that stops watching
 */
function watchNpm(onEnd: () => unknown): () => void {
  const { npm_command: command, npm_lifecycle_event: script } = process.env
  const isRunByNpm = command === 'exec' || script === 'start' || script === 'dev'
  if (!isRunByNpm) return () => undefined
  const shell = process.ppid
  const timer = setInterval(() => process.ppid !== shell && onEnd(), 250).unref()
  return () => clearInterval(timer)
}

/**
 * Exits after a time if the process does not end by itself, because a resource is still open.
 *
 * @param status the exit status; by default `process.exitCode`
 */
export function forceExitAfter(milliseconds: number, logger: Logger, status?: number): void {
  const end = (): void => {
    const open = [...new Set(process.getActiveResourcesInfo())].join(', ')
    logger.warn(`the process exits although something is still open: ${open}`)
    process.exit(status)
  }
  // The timer must not keep the process alive.
  setTimeout(end, milliseconds).unref()
}
