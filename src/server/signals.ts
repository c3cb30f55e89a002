import { constants } from 'node:os'
import type { Logger } from 'pino'

const signals = ['SIGTERM', 'SIGINT'] as const

/** npm forwards the Ctrl-C of a terminal that its command has already received. A signal within this time is the same one. */
const sameWithin = 300

/**
 * Calls back when the process has to stop: on SIGTERM or SIGINT, or when the `npm start` that started it has ended. A second
 * signal ends the process at once.
 *
 * @returns a function that removes the signal handlers
 */
export function onStopSignal(
  stop: (signal: NodeJS.Signals) => unknown,
  again: (status: number) => unknown = process.exit,
): () => void {
  let first: number | undefined
  const listen = (signal: NodeJS.Signals): void => {
    if (first === undefined) {
      forgetNpm()
      first = performance.now()
      stop(signal)
    } else if (performance.now() - first > sameWithin) again(128 + constants.signals[signal])
  }
  const forgetNpm = watchNpm(() => listen('SIGTERM'))
  for (const signal of signals) process.on(signal, listen)
  return () => {
    forgetNpm()
    for (const signal of signals) process.off(signal, listen)
  }
}

/**
 * Calls back when the shell between npm and this process has ended: npm sends SIGTERM to that shell, which does not forward
 * it.
 *
 * @returns a function that cancels this
 */
function watchNpm(ended: () => unknown): () => void {
  const { npm_command: command, npm_lifecycle_event: script } = process.env
  const isOfNpm = command === 'exec' || script === 'start' || script === 'dev'
  if (!isOfNpm) return () => undefined
  const shell = process.ppid
  const timer = setInterval(() => process.ppid !== shell && ended(), 250).unref()
  return () => clearInterval(timer)
}

/** Ends the process if it does not end by itself, because something is still open. */
export function endWithin(milliseconds: number, logger: Logger, status?: number): void {
  const end = (): void => {
    const kept = [...new Set(process.getActiveResourcesInfo())].join(', ')
    logger.warn(`the process exits although something is still open: ${kept}`)
    process.exit(status)
  }
  // The timer must not keep the process alive.
  setTimeout(end, milliseconds).unref()
}
