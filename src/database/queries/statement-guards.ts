import type { EntityManager, QueryBuilder, QueryRunner } from 'typeorm'

/** Returns the error of a statement that must not be sent. */
type Guard = (runner: QueryRunner, sql: string, values: unknown) => Error | undefined

/** Runs statements that pass the check, and records why. */
type Bypass = <Result>(
  ctx: { tx: EntityManager },
  reason: string,
  work: (tx: EntityManager) => Promise<Result>,
) => Promise<Result>

let guard: Guard | undefined
let bypass: Bypass | undefined

/** The parameters of the statements that the writer of records sends. */
const permitted = new WeakSet<object>()

/** The runners of migrations. */
const exempt = new WeakSet<QueryRunner>()

/** Sets what checks each statement before it is sent, and what lets those of `writeInBulk` pass. */
export function guardStatements(check: Guard, pass: Bypass): void {
  guard = check
  bypass = pass
}

/** Runs statements of an extension that write records past the writer, in a transaction. */
export const writeInBulk: Bypass = (ctx, reason, work) => (bypass ? bypass(ctx, reason, work) : work(ctx.tx))

/** The error of a statement that must not be sent; undefined for any other one. Migrations may send everything. */
export function refusalOf(runner: QueryRunner, sql: string, values: unknown): Error | undefined {
  return guard && !exempt.has(runner) ? guard(runner, sql, values) : undefined
}

/** Lets a runner send everything. */
export function exemptRunner(runner: QueryRunner): void {
  exempt.add(runner)
}

/** Marks the parameters of a statement that the writer of records sends, and returns them. */
export function permit<Values extends object>(values: Values): Values {
  if (guard) permitted.add(values)
  return values
}

/** Whether the parameters are those of a statement of the writer. */
export function isPermitted(values: unknown): boolean {
  return typeof values === 'object' && values !== null && permitted.has(values)
}

/** Lets a query builder send its statement as one of the writer. */
export function permitQuery<Query extends Pick<QueryBuilder<object>, 'getQueryAndParameters'>>(
  query: Query,
): Query {
  if (!guard) return query
  const build = query.getQueryAndParameters.bind(query)
  return Object.assign(query, {
    getQueryAndParameters: (): [string, unknown[]] => {
      const [sql, values] = build()
      return [sql, permit(values)]
    },
  })
}
