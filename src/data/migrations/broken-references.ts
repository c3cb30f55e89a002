import type { QueryRunner } from 'typeorm'
import type { BrokenReferences, Reference } from '../engines/engine.js'
import { engineOf } from '../engines/engines.js'

/** Finds broken references, on an engine where a migration can leave them. */
export async function brokenReferences(runner: QueryRunner): Promise<BrokenReferences> {
  return (await engineOf(runner.dataSource).findBrokenReferences?.(runner)) ?? { rows: [], keys: [] }
}

/** @throws Error when there are more broken references than before */
export function rejectBrokenReferences(before: BrokenReferences, after: BrokenReferences): void {
  const keys = after.keys.filter((key) => !before.keys.some((other) => isSame(key, other)))
  if (keys.length > 0) {
    throw new Error(`the migration leaves foreign keys to tables that do not exist: ${pairs(keys)}`)
  }
  if (after.rows.length > before.rows.length) {
    throw new Error(`the migration leaves references to rows that do not exist: ${pairs(after.rows)}`)
  }
}

function isSame(one: Reference, other: Reference): boolean {
  return one.table === other.table && one.parent === other.parent
}

function pairs(references: readonly Reference[]): string {
  return [...new Set(references.map(({ table, parent }) => `${table} to ${parent}`))].join(', ')
}
