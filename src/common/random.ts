import { randomFillSync } from 'node:crypto'

/** Random bytes, generated at once, because generating sixteen takes as long as generating thousands. */
const pool = Buffer.alloc(4096)
let used = pool.length

/**
 * Returns random bytes from a pool. Do not use them for long-lived secrets, because they are in memory before
 * they are used.
 *
 * @param size at most 4096; the bytes are overwritten when the pool is refilled, so copy them
 */
export function pooledRandomBytes(size: number): Buffer {
  if (used + size > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += size
  return pool.subarray(used - size, used)
}
