import { PerRequest } from '../../per-request.js'

type Check = () => unknown

const checks = new PerRequest<Check[]>('checks')

/** Has something checked at the end of a request's handler, before its transaction is committed: by throwing it is rolled back. */
export function beforeCommit(ctx: object, check: Check): void {
  const known = checks.get(ctx)
  if (known) known.push(check)
  else checks.set(ctx, [check])
}

/** Does what `beforeCommit` was told for a request. */
export async function checkBeforeCommit(ctx: object): Promise<void> {
  for (const check of checks.get(ctx) ?? []) await check()
}
