/** Work whose errors must be awaited. */
export interface Owner {
  /** Receives an error of the work that was not awaited. */
  lose(error: unknown): void
}

/** The owner of an error. It is a property of the error, because a map would keep it for longer. */
const owner = Symbol('resource-kit:owner')

/** Records in which work an error occurred. */
export function setOwner(error: unknown, value: Owner): void {
  if (error instanceof Error) Reflect.defineProperty(error, owner, { value, configurable: true })
}

let guards = 0

/**
 * Keeps the process running when a request's database work fails without being awaited. Any other unhandled rejection
 * still ends the process.
 *
 * @returns a function that removes this guard
 */
export function guardUnawaited(): () => void {
  if (guards === 0) process.on('unhandledRejection', receiveRejection)
  guards += 1
  let isOn = true
  return () => {
    if (!isOn) return
    isOn = false
    guards -= 1
    if (guards === 0) process.off('unhandledRejection', receiveRejection)
  }
}

function receiveRejection(reason: unknown): void {
  const work = ownerOf(reason)
  if (work) work.lose(reason)
  // Without other listeners, Node would have thrown it.
  else if (process.listenerCount('unhandledRejection') === 1) throw reason
}

function ownerOf(error: unknown): Owner | undefined {
  if (!(error instanceof Error)) return undefined
  return (error as { [owner]?: Owner })[owner] ?? ownerOf(error.cause)
}
