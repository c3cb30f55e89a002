import { PerRequest } from '../../common/per-request.js'

type Check = () => unknown

const checks = new PerRequest<Check[]>()

/** Registers a check that runs after the handler, before the commit. If it throws, the transaction is rolled back. */
export function beforeCommit(ctx: object, check: Check): void {
  const known = checks.get(ctx)
  if (known) known.push(check)
  else checks.set(ctx, [check])
}

/** Returns a function that forgets what is registered from now on, before a request is retried. */
export function snapshotChecks(ctx: object): () => void {
  const count = checks.get(ctx)?.length ?? 0
  return () => void checks.set(ctx, (checks.get(ctx) ?? []).slice(0, count))
}

/** Runs the checks that `beforeCommit` has registered for a request. */
export async function checkBeforeCommit(ctx: object): Promise<void> {
  for (const check of checks.get(ctx) ?? []) await check()
}
