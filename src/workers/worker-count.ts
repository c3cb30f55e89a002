import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { CommandError } from '../command-errors.js'

/** The limit of a container on Linux: `200000 100000` is the time of two processors, `max 100000` that of all. */
const containerLimit = '/sys/fs/cgroup/cpu.max'

/**
 * How many workers are wanted: a number from 1, or `auto` for one for each processor that the process may use.
 *
 * @param source what says so: `--workers` or `WEB_CONCURRENCY`
 * @throws CommandError when it is something else
 */
export function workerCount(text: string, source: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text)
  if (text === 'auto') return processors()
  throw new CommandError(`${source} is "${text}". Give it a number of processes from 1 to 999, or "auto".`)
}

function processors(): number {
  const [quota, period] = limitOfContainer()?.split(' ').map(Number) ?? []
  const all = availableParallelism()
  return quota && period ? Math.min(all, Math.ceil(quota / period)) : all
}

function limitOfContainer(): string | undefined {
  try {
    return readFileSync(containerLimit, 'utf8')
  } catch {
    return undefined
  }
}
