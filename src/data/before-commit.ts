const checks = new WeakMap<object, Array<() => unknown>>()

/** Has something checked at the end of a request's handler, before its transaction is committed: by throwing it is rolled back. */
export function beforeCommit(ctx: object, check: () => unknown): void {
  checks.set(ctx, [...(checks.get(ctx) ?? []), check])
}

/** Does what `beforeCommit` was told for a request. */
export async function checkBeforeCommit(ctx: object): Promise<void> {
  for (const check of checks.get(ctx) ?? []) await check()
}
