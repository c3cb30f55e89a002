import { takePart } from '../extension.js'
import type { Model } from '../index.js'
import { GuardedRecord } from './errors.js'

/** The models of memberships and invitations, and their records that a method writes at the moment. */
const guarded = new WeakSet<object>()
const written = new WeakSet<Model>()

takePart({
  concerns: ({ target }) => isGuarded(target),
  async check({ work, record, action }) {
    if (work.isOutside || written.has(record)) return undefined
    throw new GuardedRecord(record.constructor.name, action)
  },
})

/** Lets only the methods of `teamMembers()` write the records of a model. */
export function guard(model: Function): void {
  guarded.add(model)
}

export function isGuarded(model: unknown): boolean {
  return typeof model === 'function' && guarded.has(model)
}

/** Writes a membership or an invitation, which `ctx.save` and `ctx.destroy` refuse otherwise. */
export async function writeGuarded<Result>(
  record: Model,
  write: (record: Model) => Promise<Result>,
): Promise<Result> {
  written.add(record)
  return write(record).finally(() => written.delete(record))
}
