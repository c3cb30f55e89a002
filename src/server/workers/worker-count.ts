import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { CommandError } from '../../command-errors.js'

/** The CPU limit of a Linux container: `200000 100000` means two processors, `max 100000` no limit. */
const containerLimit = '/sys/fs/cgroup/cpu.max'

/**
 * Parses the number of workers: a number from 1 to 999, or `auto` for one worker per available processor.
 *
 * @param source the option or variable with the number, for messages: `--workers` or `WEB_CONCURRENCY`
 * @throws CommandError for any other string
 */
export function workerCount(text: string, source: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text)
  if (text === 'auto') return availableProcessors()
  throw new CommandError(
    `${source} is "${text}". Set it to a number of processes from 1 to 999, or to "auto".`,
  )
}

function availableProcessors(): number {
  // `max` becomes NaN.
  const [quota, period] = readContainerLimit()?.split(' ').map(Number) ?? []
  const all = availableParallelism()
  return quota && period ? Math.min(all, Math.ceil(quota / period)) : all
}

function readContainerLimit(): string | undefined {
  try {
    return readFileSync(containerLimit, 'utf8')
  } catch {
    return undefined
  }
}
