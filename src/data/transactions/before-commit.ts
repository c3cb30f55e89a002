import { PerRequest } from '../../common/per-request.js'

type Check = () => unknown

const checks = new PerRequest<Check[]>()

/** Registers a check that runs after the handler, before the commit. If it throws, the transaction is rolled back. */
export function beforeCommit(ctx: object, check: Check): void {
  const known = checks.get(ctx)
  if (known) known.push(check)
  else checks.set(ctx, [check])
}

/** Runs the checks that `beforeCommit` has registered for a request. */
export async function checkBeforeCommit(ctx: object): Promise<void> {
  for (const check of checks.get(ctx) ?? []) await check()
}
