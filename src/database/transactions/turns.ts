import { setImmediate as turnEnd } from 'node:timers/promises'

/** The milliseconds after which a turn of the event loop is long. */
const maxTurn = 20

/** The milliseconds after a long turn in which transactions wait for another turn. */
const busyTime = 1000

/** When the first transaction of this turn began. */
let began: number | undefined

/** When the last long turn ended. */
let lastLongTurn = -Infinity

/**
 * Lets the event loop turn if transactions keep it busy, because it only then notices which clients have
 * left. Statements of SQLite run within a turn: of a hundred slow searches whose clients have left, all would
 * run. Undefined if there is no need to wait.
 */
export function waitForTurn(): Promise<void> | undefined {
  if (isLong() || performance.now() - lastLongTurn < busyTime) return waitForShortTurn()
  begin()
  return undefined
}

async function waitForShortTurn(): Promise<void> {
  do {
    // The event loop reads between the ends of two turns.
    await turnEnd()
    await turnEnd()
  } while (isLong())
  begin()
}

function isLong(): boolean {
  return began !== undefined && performance.now() - began > maxTurn
}

function begin(): void {
  if (began !== undefined) return
  began = performance.now()
  setImmediate(() => {
    if (isLong()) lastLongTurn = performance.now()
    began = undefined
  })
}
