import { randomFillSync } from 'node:crypto'

/** Fetched at once: asking the system for sixteen bytes costs as much as asking for thousands. */
const pool = Buffer.alloc(4096)
let used = pool.length

/**
 * Random bytes, for what is no secret for long: they have been in memory before they are used.
 *
 * @param size how many, 4096 at most; they are others as soon as many more have been asked for, so copy what is kept
 */
export function pooledRandomBytes(size: number): Buffer {
  if (used + size > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += size
  return pool.subarray(used - size, used)
}
