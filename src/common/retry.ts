import { setTimeout as delay } from 'node:timers/promises'

/** Milliseconds between two attempts: at first, and at most. They double in between. */
export interface Backoff {
  first: number
  max: number
}

/** When `retry` tries again. */
export interface RetryOptions extends Backoff {
  isTemporary: (error: unknown) => boolean
  /** When the last attempt begins, on the clock of `performance.now()` (never). */
  deadline?: number
  /** The number of attempts after the first one (no limit). */
  retries?: number
}

/** The pause after a number of failures. */
export function backoffDelay(failures: number, { first, max }: Backoff): number {
  return failures === 0 ? 0 : Math.min(first * 2 ** (failures - 1), max)
}

/**
 * Makes attempts until one succeeds, with growing pauses of random length, which leave the event loop free.
 *
 * @throws the last error, once the deadline has passed or no retry is left, or an error that isn't temporary
 */
export async function retry<T>(attempt: () => T | Promise<T>, options: RetryOptions): Promise<T> {
  const { isTemporary, deadline = Infinity, retries = Infinity } = options
  for (let failures = 1; ; failures += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!isTemporary(error) || failures > retries || performance.now() > deadline) throw error
    }
    await delay(backoffDelay(failures, options) * (0.5 + Math.random()))
  }
}
