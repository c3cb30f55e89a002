import type { Worker } from 'node:cluster'
import { createServer, type Socket } from 'node:net'
import { listenOn, stopListening } from '../port.js'
import type { PrimaryMessage } from './messages.js'

/** The maximum number of connections that wait for a worker. Further ones are closed. */
const maxWaiting = 4096

/** The milliseconds for which a worker that shuts down waits until the other workers do so, too. */
const withdrawTimeout = 2000

/**
 * Listens on a port for all workers, and transfers each connection to the next free worker.
 *
 * node:cluster loses two kinds of connections: those on their way to a worker that is killed, whose clients
 * then wait forever for a response, and those that still wait when the last worker closes. An acceptor keeps
 * each connection until a worker confirms it.
 */
export class Acceptor {
  private readonly workers = new Set<Worker>()
  /** The workers without an unconfirmed connection, in the order of their turns. */
  private readonly free: Worker[] = []
  /** The connections that wait for a free worker. */
  private readonly waiting: Socket[] = []
  /** The connections that were transferred to each worker, and that it has not confirmed. */
  private readonly transferred = new Map<Worker, Socket[]>()
  /** The workers that have asked to be withdrawn together. */
  private readonly withdrawing = new Set<Worker>()
  /** The timer that closes the acceptor if not all workers ask for it. */
  private closing: NodeJS.Timeout | undefined
  private isClosed = false
  private readonly server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) =>
    this.receive(socket),
  )
  private address: Promise<string> | undefined

  /** @param key identifies the port in messages */
  constructor(private readonly key: string) {}

  /**
   * Listens on the port. Further calls return the same address.
   *
   * @throws PortInUse, AddressUnavailable
   */
  listen(port: number, host: string | undefined): Promise<string> {
    return (this.address ??= listenOn(this.server, port, host))
  }

  /** Adds a worker that can receive connections. */
  add(worker: Worker): void {
    this.workers.add(worker)
    this.free.push(worker)
    this.transferWaiting()
  }

  /** Called when a worker has received the first of its unconfirmed connections. */
  confirm(worker: Worker): void {
    const sockets = this.transferred.get(worker)
    // This closes only the handle of this process. The worker has its own.
    sockets?.shift()?.destroy()
    if (sockets?.length !== 0) return
    this.transferred.delete(worker)
    if (!this.workers.has(worker)) return
    this.free.push(worker)
    this.transferWaiting()
  }

  /** Removes a worker that has ended. Its unconfirmed connections are transferred to other workers. */
  remove(worker: Worker): void {
    this.forget(worker)
    this.waiting.unshift(...(this.transferred.get(worker) ?? []))
    this.transferred.delete(worker)
    this.transferWaiting()
    this.closeWhenAllWithdraw()
  }

  /** Transfers no more connections to a worker, and confirms that to it after the last one. */
  withdraw(worker: Worker): void {
    this.forget(worker)
    if (worker.isConnected()) worker.send({ kit: 'withdrawn', key: this.key } satisfies PrimaryMessage)
  }

  /**
   * Withdraws a worker when the whole application stops. All workers are withdrawn together, after the last
   * one has asked for it. Otherwise the clients of the first worker would connect to the others, which are
   * about to shut down.
   */
  withdrawWithOthers(worker: Worker): void {
    if (this.isClosed) return this.withdraw(worker)
    this.withdrawing.add(worker)
    this.closing ??= setTimeout(() => this.close(), withdrawTimeout)
    this.closeWhenAllWithdraw()
  }

  private closeWhenAllWithdraw(): void {
    if (this.closing && [...this.workers].every((worker) => this.withdrawing.has(worker))) void this.close()
  }

  /** Stops listening, transfers waiting connections, also to busy workers, and withdraws the workers. */
  private async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    clearTimeout(this.closing)
    await stopListening(this.server)
    const workers = [...this.withdrawing].filter((worker) => this.workers.has(worker))
    this.waiting.splice(0).forEach((socket, number) => {
      const worker = workers[number % workers.length]
      if (worker) this.transfer(worker, socket)
      else socket.destroy()
    })
    for (const worker of workers) this.withdraw(worker)
  }

  private receive(socket: Socket): void {
    // A client may disconnect while it waits, and an error without a listener would end the process.
    socket.on('error', () => {})
    if (this.waiting.length === maxWaiting) return void socket.destroy()
    this.waiting.push(socket)
    this.transferWaiting()
  }

  private transferWaiting(): void {
    while (this.waiting.length > 0 && this.free.length > 0) {
      const [worker, socket] = [this.free.shift(), this.waiting.shift()]
      if (worker && socket) this.transfer(worker, socket)
    }
  }

  private transfer(worker: Worker, socket: Socket): void {
    this.transferred.set(worker, [...(this.transferred.get(worker) ?? []), socket])
    // The socket stays open here until the worker confirms it. An error is ignored: if the worker has ended,
    // `remove` is called.
    const message = { kit: 'connection', key: this.key } satisfies PrimaryMessage
    worker.process.send(message, socket, { keepOpen: true }, () => {})
  }

  private forget(worker: Worker): void {
    this.workers.delete(worker)
    this.withdrawing.delete(worker)
    const turn = this.free.indexOf(worker)
    if (turn !== -1) this.free.splice(turn, 1)
  }
}
