import { ServiceUnavailable, TooManyUploads } from '../../errors.js'

/** The number of multipart forms of one client that are read at the same time. */
const perClient = 5

/** Milliseconds for which a further form of the client waits. */
const patience = 5000

interface Client {
  running: number
  /** Each of them continues a form that waits, which takes over the place of one that has ended. */
  waiting: Set<() => void>
}

/** Limits how many multipart forms are read at the same time, because each of them needs buffers and an open file. */
export class UploadSlots {
  private running = 0
  private readonly clients = new Map<string, Client>()

  /** @param limit the number of forms of all clients */
  constructor(private readonly limit: number) {}

  /**
   * Reads a form.
   *
   * @throws TooManyUploads (429) when the client's other forms take too long; ServiceUnavailable (503) at the limit
   */
  async run(client: string, work: () => Promise<void>): Promise<void> {
    const leave = await this.enter(client)
    try {
      if (this.running >= this.limit)
        throw new ServiceUnavailable(
          `${this.limit} uploads are in progress, which is the maximum (uploadsLimit).`,
        )
      this.running++
      await work().finally(() => this.running--)
    } finally {
      leave()
    }
  }

  private async enter(name: string): Promise<() => void> {
    const client = this.clients.get(name) ?? { running: 0, waiting: new Set() }
    this.clients.set(name, client)
    if (client.running < perClient) client.running++
    else await turn(client)
    return () => {
      const [next] = client.waiting
      if (next) next()
      else if (--client.running === 0) this.clients.delete(name)
    }
  }
}

function turn({ waiting }: Client): Promise<void> {
  return new Promise((resolve, reject) => {
    const proceed = (): void => {
      waiting.delete(proceed)
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      waiting.delete(proceed)
      reject(new TooManyUploads(perClient, patience / 1000))
    }, patience)
    waiting.add(proceed)
  })
}
