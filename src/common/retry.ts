import { setTimeout as delay } from 'node:timers/promises'

/** The pause between two attempts, which doubles with each failure. */
export interface Backoff {
  /** Milliseconds after the first failure. */
  first: number
  /** The maximum in milliseconds. */
  max: number
}

/** When `retry` tries again. */
export interface RetryOptions extends Backoff {
  isTemporary: (error: unknown) => boolean
  /** The time of `performance.now()` after which a failure is final (none). */
  deadline?: number
  /** The maximum number of attempts after the first one (no limit). */
  retries?: number
}

/** The milliseconds to wait after a number of failures in succession. */
export function backoffDelay(failures: number, { first, max }: Backoff): number {
  return failures === 0 ? 0 : Math.min(first * 2 ** (failures - 1), max)
}

/**
 * Makes attempts until one succeeds. A pause lasts between half and one and a half times its `Backoff`, so
 * that processes that failed together do not try again together.
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
