import { constants } from 'node:os'
import type { Logger } from 'pino'

const signals = ['SIGTERM', 'SIGINT'] as const

/** npm passes on the Ctrl-C of a terminal that its command has got already: what comes that soon is the same one. */
const sameWithin = 300

/**
 * Calls back when the process is told to stop, by SIGTERM or SIGINT, or by the end of the `npm start` that it was started
 * with. A second signal ends it at once.
 *
 * @returns what takes this back
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
 * npm hands SIGTERM to the shell between it and us, which ends without handing it on: calls back when that shell is gone.
 *
 * @returns what takes this back
 */
function watchNpm(ended: () => unknown): () => void {
  const { npm_command: command, npm_lifecycle_event: script } = process.env
  const isOfNpm = command === 'exec' || script === 'start' || script === 'dev'
  if (!isOfNpm) return () => undefined
  const shell = process.ppid
  const timer = setInterval(() => process.ppid !== shell && ended(), 250).unref()
  return () => clearInterval(timer)
}

/** Ends the process when it has not ended by itself before, because something that nobody has closed keeps it. */
export function endWithin(milliseconds: number, logger: Logger, status?: number): void {
  const end = (): void => {
    const kept = [...new Set(process.getActiveResourcesInfo())].join(', ')
    logger.warn(`the process exits although something is still open: ${kept}`)
    process.exit(status)
  }
  // Its own waiting must not keep the process.
  setTimeout(end, milliseconds).unref()
}
