import type { Socket } from 'node:net'

/** The members of a connection that are needed here. */
export type SendingSocket = Pick<Socket, 'bytesWritten' | 'writableLength' | 'destroy'>

/** How much of its response a connection had sent, and since when that has not changed. */
interface Progress {
  sent: number
  queued: number
  since: number
}

/** Finds the connections whose client does not read its response. */
export class StalledConnections<S extends SendingSocket> {
  private readonly progress = new WeakMap<S, Progress>()

  /** @param sendTimeout milliseconds after which a connection is closed that sends nothing, although it has something to send */
  constructor(private readonly sendTimeout: number) {}

  /** Closes the connections that have sent nothing for too long, except those whose response is still being produced. */
  close(connections: Iterable<S>, now: number): void {
    for (const socket of connections) if (this.isStalled(socket, now)) socket.destroy()
  }

  private isStalled(socket: S, now: number): boolean {
    if (socket.writableLength === 0) {
      this.progress.delete(socket)
      return false
    }
    const [sent, queued] = [socket.bytesWritten - socket.writableLength, queuedBytes(socket)]
    const known = this.progress.get(socket)
    if (known?.sent === sent && known.queued === queued) return now - known.since >= this.sendTimeout
    this.progress.set(socket, { sent, queued, since: now })
    return false
  }
}

/**
 * The bytes of the present write that the system has not taken yet. A response of many megabytes can be one write, and no
 * public member of a socket shows that a slow client reads on.
 */
function queuedBytes(socket: object): number {
  return Number(Reflect.get(Object(Reflect.get(socket, '_handle')), 'writeQueueSize') ?? 0)
}
