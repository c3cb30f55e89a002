import { Semaphore } from '../../common/semaphore.js'
import { ServiceUnavailable, TooManyUploads } from '../../errors.js'

/** The maximum number of multipart forms of one client that are read at the same time. */
const perClient = 5

/** The milliseconds for which a further form of the client waits. */
const waitLimit = 5000

/** Limits how many multipart forms are read at the same time: each needs buffers and an open file. */
export class UploadSlots {
  private running = 0
  private readonly clients = new Map<string, Semaphore>()

  /** @param limit the maximum number of forms of all clients */
  constructor(private readonly limit: number) {}

  /**
   * Runs `work`, which reads a form.
   *
   * @param address the address of the client, or its network
   * @throws TooManyUploads (429) when the client's other forms take too long; ServiceUnavailable (503) at the
   *   limit
   */
  async run(address: string, work: () => Promise<void>): Promise<void> {
    const tooMany = () => new TooManyUploads(perClient, waitLimit / 1000)
    const client = this.clients.get(address) ?? new Semaphore(perClient, waitLimit, tooMany)
    this.clients.set(address, client)
    try {
      await client.run(() => this.count(work))
    } finally {
      if (client.isIdle) this.clients.delete(address)
    }
  }

  private async count(work: () => Promise<void>): Promise<void> {
    if (this.running >= this.limit)
      throw new ServiceUnavailable(
        `${this.limit} uploads are in progress, which is the maximum (uploadsLimit).`,
      )
    this.running++
    await work().finally(() => this.running--)
  }
}
