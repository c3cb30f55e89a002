import type { Socket } from 'node:net'

/** The properties and the method of a socket that `StalledConnections` uses. */
export type SendingSocket = Pick<Socket, 'bytesWritten' | 'writableLength' | 'destroy'>

/** How much of a response a connection had sent at a point in time. */
interface Progress {
  /** Bytes that left the socket's buffer. Node also counts those in the buffer as written. */
  sent: number
  /** Bytes of the current write that the operating system had not accepted. */
  queued: number
  /** The time of the last change. */
  since: number
}

/** Closes the connections of clients that do not read their response. */
export class StalledConnections<S extends SendingSocket> {
  private readonly progress = new WeakMap<S, Progress>()

  /** @param sendTimeout milliseconds without progress after which a connection is closed */
  constructor(private readonly sendTimeout: number) {}

  /**
   * Closes the connections that have data to send, but have sent none for `sendTimeout`. A connection without
   * data, whose response is still being produced, stays open. Each call compares a connection's progress with
   * that at the call before, so the server calls this method several times during a `sendTimeout`.
   *
   * @param now the time in milliseconds
   */
  close(connections: Iterable<S>, now: number): void {
    for (const socket of connections) if (this.isStalled(socket, now)) socket.destroy()
  }

  private isStalled(socket: S, now: number): boolean {
    if (socket.writableLength === 0) {
      this.progress.delete(socket)
      return false
    }
    const sent = socket.bytesWritten - socket.writableLength
    const queued = queuedBytes(socket)
    const last = this.progress.get(socket)
    if (last?.sent === sent && last.queued === queued) return now - last.since >= this.sendTimeout
    this.progress.set(socket, { sent, queued, since: now })
    return false
  }
}

/**
 * The bytes of the current write that the operating system has not accepted yet. A response of many megabytes
 * can be a single write, and no public member of a socket shows whether a slow client is still reading it.
 */
function queuedBytes(socket: object): number {
  return Number(Reflect.get(Object(Reflect.get(socket, '_handle')), 'writeQueueSize') ?? 0)
}
