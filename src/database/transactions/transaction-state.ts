/**
 * The states of a transaction:
 *
 *     new ──> opening ──┬──> connected ──┬──> begun ──> active
 *                       │        ▲       │                 │
 *                       ├────────┼───────┘                 │
 *                       ▼        └──── all is undone ──────┘
 *                     late
 *
 * - `opening`: it waits for its connection.
 * - `connected`: it has one, over which it can read without a transaction of the database.
 * - `begun`: the database has a transaction without statements, whose end would lose nothing.
 * - `active`: it has run a statement.
 * - `late`: it could not begin in time, and no longer has a connection.
 * - `ended`: it is committed or rolled back. This state can follow all but `late`.
 */
export type TransactionState = 'new' | 'opening' | 'connected' | 'begun' | 'active' | 'late' | 'ended'

/** The state that a statement needs: it has a connection, or a transaction of the database. */
export type Goal = 'connected' | 'begun'

const sufficient: Record<Goal, readonly TransactionState[]> = {
  connected: ['connected', 'begun', 'active'],
  begun: ['begun', 'active'],
}

/** Whether a statement can run in a state. */
export function allows(state: TransactionState, goal: Goal): boolean {
  return sufficient[goal].includes(state)
}
