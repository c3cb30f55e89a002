import type { QueryRunner } from 'typeorm'
import type { Place, Reading, Servers } from './servers.js'

/** The beginning of a statement that waits until its node has everything that the others have committed before. */
export const AFTER_OTHERS = 'SET STATEMENT wsrep_sync_wait = 1 FOR '

/**
 * The nodes of a Galera cluster, of which each connection leads to one. A position is only a time: a request with one waits on its
 * node for the others.
 */
export class Galera implements Servers {
  readonly hasReplica = false
  private readonly place: Place = { name: 'primary', isReplica: false, isAhead: false, waits: true }

  async choose(runner: QueryRunner, { position }: Reading): Promise<Place> {
    if (position !== undefined) await runner.query(`${AFTER_OTHERS}SELECT 1`)
    return this.place
  }

  async commit(runner: QueryRunner): Promise<bigint> {
    await runner.commitTransaction()
    return this.position()
  }

  async position(): Promise<bigint> {
    return BigInt(Date.now())
  }

  async stop(): Promise<void> {}
}
