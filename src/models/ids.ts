import { v7 as uuidv7 } from 'uuid'
import { coerce, unreadable } from './attributes/coerce.js'
import { pooledRandomBytes } from '../common/random.js'

let latest = 0
let sequence = 0

/**
 * Returns a new id: a UUID of version 7, which begins with the time. The ids of one process sort in the order
 * of their creation, because ids of the same millisecond count up from a random number (RFC 9562, section
 * 6.2).
 */
export function newId(): string {
  const random = pooledRandomBytes(16)
  const now = Date.now()
  if (now > latest) {
    latest = now
    // The highest bit is 0, so that at least half of the 32-bit numbers follow.
    sequence = random.readInt32BE(6) & 0x7fffffff
  } else {
    // After the last 32-bit number comes 0, with the next millisecond.
    sequence = (sequence + 1) | 0
    if (sequence === 0) latest += 1
  }
  return uuidv7({ random, msecs: latest, seq: sequence })
}

/** Whether a value can be an id. PostgreSQL rejects a query with text that is not a UUID. */
export function isId(value: unknown): boolean {
  return coerce(value, { name: 'id', kind: 'uuid', nullable: false }) !== unreadable && value !== null
}
