import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Attack } from './attacks.js'

/** Milliseconds after which a complete request has a response: more than waits for connections and retries take. */
const patience = 60_000

/** How an attack has ended. */
export interface AttackOutcome {
  /** The statuses of the responses. */
  statuses: number[]
  /** Whether the server neither responded nor closed the connection. */
  isUnanswered: boolean
}

/** Sends what an attack has to a port, and waits for its responses or the end of the connection. */
export async function attack(
  port: number,
  { steps, responses, reads = true, leavesAfter = Infinity, ends }: Attack,
): Promise<AttackOutcome> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const statuses: number[] = []
  let bytes = 0
  /** The beginning of a status line that may be continued. */
  let rest = ''
  const finished = new Promise<boolean>((resolve) => {
    const finish = (): void => resolve(false)
    socket.on('error', () => {})
    socket.on('end', finish).on('close', finish)
    socket.on('data', (data) => {
      bytes += data.length
      const text = rest + data.toString('latin1')
      rest = text.slice(-11)
      for (const [, status] of text.matchAll(/HTTP\/1\.1 ([2-5]\d\d)/g)) statuses.push(Number(status))
      if (bytes >= leavesAfter || (leavesAfter === Infinity && responses > 0 && statuses.length >= responses))
        finish()
    })
  })

  if (!reads) socket.pause()
  for (const step of steps) {
    if (typeof step === 'number') await Promise.race([delay(step), finished])
    else if (socket.writable) socket.write(typeof step === 'string' ? Buffer.from(step, 'latin1') : step)
  }
  if (ends) socket.end()
  const isUnanswered =
    responses > 0 &&
    (await Promise.race([finished, delay(patience, true, { ref: false })])) &&
    statuses.length === 0
  socket.destroy()
  return { statuses, isUnanswered }
}
