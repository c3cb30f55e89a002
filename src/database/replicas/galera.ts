import type { Servers } from './servers.js'

/**
 * The nodes of a Galera cluster. Each connection leads to one of them. A position is only a time: if a
 * request has a position, it waits until its node has everything that the others have committed.
 *
 * @param afterOthers the beginning of a statement that waits for that
 */
export function nodes(afterOthers: string): Servers {
  return {
    hasReplica: false,
    async choose(primary, { position }) {
      if (position !== undefined) await primary.query(`${afterOthers}SELECT 1`)
      return { name: 'primary', isAhead: false, waits: true }
    },
    async commit(runner) {
      await runner.commitTransaction()
      return BigInt(Date.now())
    },
    position: async () => BigInt(Date.now()),
    stop: async () => {},
  }
}
