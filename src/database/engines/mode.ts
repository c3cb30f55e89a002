import type { QueryRunner, ReplicationMode } from 'typeorm'

/** The use of a query runner. On SQLite, one that only reads does not wait for writers. */
export type Mode = 'read' | 'write'

/** Creates a query runner. TypeORM calls the two modes `slave` and `master`. */
export function createRunner(
  source: { createQueryRunner(mode: ReplicationMode): QueryRunner },
  mode: Mode,
): QueryRunner {
  return source.createQueryRunner(mode === 'read' ? 'slave' : 'master')
}
