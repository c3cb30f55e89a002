import { PerRequest } from '../../per-request.js'

type Memory = () => () => void

const memories = new PerRequest<Memory[]>('memories')

/** Has something remembered before a request's handler begins, and restored before it begins again. */
export function restoreOnRetry(ctx: object, remember: Memory): void {
  const known = memories.get(ctx)
  if (known) known.push(remember)
  else memories.set(ctx, [remember])
}

/**
 * Remembers what `restoreOnRetry` was told to for a request.
 *
 * @returns what restores it
 */
export function snapshotForRetry(ctx: object): () => void {
  const restores = (memories.get(ctx) ?? []).map((remember) => remember())
  return () => restores.forEach((restore) => restore())
}
