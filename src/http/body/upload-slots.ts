import { setTimeout as delay } from 'node:timers/promises'
import { ServiceUnavailable, TooManyUploads } from '../../errors.js'

/** The maximum number of multipart forms of one client that are read at the same time. */
const perClient = 5

/** The milliseconds for which a further form of the client waits. */
const waitLimit = 5000

interface Client {
  running: number
  /** The forms that wait until another one of the client has ended. Aborting lets a form continue. */
  waiting: Set<AbortController>
}

/** Limits how many multipart forms are read at the same time, because each of them needs buffers and an open file. */
export class UploadSlots {
  private running = 0
  private readonly clients = new Map<string, Client>()

  /** @param limit the maximum number of forms of all clients */
  constructor(private readonly limit: number) {}

  /**
   * Runs `work`, which reads a form.
   *
   * @param address the address of the client, or its network
   * @throws TooManyUploads (429) when the client's other forms take too long; ServiceUnavailable (503) at the limit
   */
  async run(address: string, work: () => Promise<void>): Promise<void> {
    const client = this.clients.get(address) ?? { running: 0, waiting: new Set() }
    this.clients.set(address, client)
    if (client.running < perClient) client.running++
    else await waitForTurn(client)
    try {
      if (this.running >= this.limit)
        throw new ServiceUnavailable(
          `${this.limit} uploads are in progress, which is the maximum (uploadsLimit).`,
        )
      this.running++
      await work().finally(() => this.running--)
    } finally {
      // A form that waits takes over this one's place, so `running` stays the same.
      const [next] = client.waiting
      if (next) {
        client.waiting.delete(next)
        next.abort()
      } else if (--client.running === 0) this.clients.delete(address)
    }
  }
}

/** @throws TooManyUploads (429) when no other form of the client ends in time */
async function waitForTurn({ waiting }: Client): Promise<void> {
  const turn = new AbortController()
  waiting.add(turn)
  await delay(waitLimit, undefined, { signal: turn.signal }).catch(() => undefined)
  // The form whose end began the turn has removed it from the set.
  if (waiting.delete(turn)) throw new TooManyUploads(perClient, waitLimit / 1000)
}
