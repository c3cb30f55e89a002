import { PerRequest } from '../../common/per-request.js'

type Memory = () => () => void

const memories = new PerRequest<Memory[]>()

/** Registers a function that takes a snapshot before a request's handler runs. The snapshot is restored before each retry. */
export function restoreOnRetry(ctx: object, remember: Memory): void {
  const known = memories.get(ctx)
  if (known) known.push(remember)
  else memories.set(ctx, [remember])
}

/**
 * Takes the snapshots that are registered for a request.
 *
 * @returns a function that restores them
 */
export function snapshotForRetry(ctx: object): () => void {
  const restores = (memories.get(ctx) ?? []).map((remember) => remember())
  return () => restores.forEach((restore) => restore())
}
