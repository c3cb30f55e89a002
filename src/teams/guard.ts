import type { EntityMetadata } from 'typeorm'
import { takePart } from '../extension.js'
import type { Database, Model } from '../index.js'
import { GuardedRecord } from './errors.js'

/** The models of memberships and invitations of each database, and their records that a method writes at the moment. */
const guarded = new WeakMap<object, readonly unknown[]>()
const written = new WeakSet<Model>()

takePart({
  concerns: isGuarded,
  async check({ work, record }) {
    if (work.isOutside || written.has(record)) return undefined
    throw new GuardedRecord(record.constructor.name)
  },
})

/** Lets only the methods of `teamMembers()` write the records of some models. */
export function guard(database: Database, models: readonly Function[]): void {
  guarded.set(database, [...(guarded.get(database) ?? []), ...models])
}

export function isGuarded({ dataSource, target }: EntityMetadata): boolean {
  return guarded.get(dataSource)?.includes(target) === true
}

/** Writes a membership or an invitation, which `ctx.save` and `ctx.destroy` refuse otherwise. */
export async function writeGuarded<Result>(
  record: Model,
  write: (record: Model) => Promise<Result>,
): Promise<Result> {
  written.add(record)
  return write(record).finally(() => written.delete(record))
}
