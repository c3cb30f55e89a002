import type { Worker } from 'node:cluster'
import { createServer, type Socket } from 'node:net'
import { listenOn, stopListening } from '../server/port.js'
import type { PrimarySays } from './messages.js'

/** The most connections that wait for a worker. */
const mostWaiting = 4096

/** Milliseconds that a worker which wants to leave waits for the others. */
const mostPatience = 2000

/**
 * Listens on a port for all workers, and hands each connection to the next worker that is free.
 *
 * node:cluster does so, too, but loses the connection that is on its way to a worker that is killed (it hangs for ever),
 * and those that wait when the last worker closes. Here one is let go only once a worker has said that it has it.
 */
export class Front {
  private readonly workers = new Set<Worker>()
  /** The workers that have nothing on its way to them, in the order of their turns. */
  private readonly free: Worker[] = []
  private readonly waiting: Socket[] = []
  /** What is on its way to each worker. */
  private readonly handed = new Map<Worker, Socket[]>()
  private readonly leaving = new Set<Worker>()
  private closing: NodeJS.Timeout | undefined
  private isShut = false
  private readonly server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) =>
    this.receive(socket),
  )
  private address: Promise<string> | undefined

  /** @param key names the port in messages */
  constructor(private readonly key: string) {}

  /**
   * Listens; once, however many workers ask.
   *
   * @throws PortTaken, AddressRefused
   */
  listen(port: number, host: string | undefined): Promise<string> {
    return (this.address ??= listenOn(this.server, port, host))
  }

  /** Lets a worker have connections. */
  enter(worker: Worker): void {
    this.workers.add(worker)
    this.free.push(worker)
    this.handOut()
  }

  /** A worker has the first of the connections that were on their way to it. */
  taken(worker: Worker): void {
    const sockets = this.handed.get(worker)
    sockets?.shift()?.destroy()
    if (sockets?.length !== 0) return
    this.handed.delete(worker)
    if (!this.workers.has(worker)) return
    this.free.push(worker)
    this.handOut()
  }

  /** A worker has ended. What was on its way to it goes to others. */
  lose(worker: Worker): void {
    this.withdraw(worker)
    this.waiting.unshift(...(this.handed.get(worker) ?? []))
    this.handed.delete(worker)
    this.handOut()
    this.closeWhenLeft()
  }

  /** Lets a worker have no more connections, and tells it so after the last one. */
  leave(worker: Worker): void {
    this.withdraw(worker)
    if (worker.isConnected()) worker.send({ kit: 'left', key: this.key } satisfies PrimarySays)
  }

  /**
   * The same when the application stops: all workers leave together, when the last one wants to. Otherwise those who get
   * their last answer from the first one would come again while the last one leaves.
   */
  leaveLast(worker: Worker): void {
    if (this.isShut) return this.leave(worker)
    this.leaving.add(worker)
    this.closing ??= setTimeout(() => this.close(), mostPatience)
    this.closeWhenLeft()
  }

  private closeWhenLeft(): void {
    if (this.closing && [...this.workers].every((worker) => this.leaving.has(worker))) void this.close()
  }

  private async close(): Promise<void> {
    if (this.isShut) return
    this.isShut = true
    clearTimeout(this.closing)
    await stopListening(this.server)
    const workers = [...this.leaving].filter((worker) => this.workers.has(worker))
    this.waiting.splice(0).forEach((socket, number) => {
      const worker = workers[number % workers.length]
      if (worker) this.hand(worker, socket)
      else socket.destroy()
    })
    for (const worker of workers) this.leave(worker)
  }

  private receive(socket: Socket): void {
    // A client that leaves while it waits is no matter of ours.
    socket.on('error', () => {})
    if (this.waiting.length === mostWaiting) return void socket.destroy()
    this.waiting.push(socket)
    this.handOut()
  }

  private handOut(): void {
    while (this.waiting.length > 0 && this.free.length > 0) {
      const [worker, socket] = [this.free.shift(), this.waiting.shift()]
      if (worker && socket) this.hand(worker, socket)
    }
  }

  private hand(worker: Worker, socket: Socket): void {
    this.handed.set(worker, [...(this.handed.get(worker) ?? []), socket])
    // It stays open here until the worker has it. When the worker is gone, `lose` is told.
    const message = { kit: 'connection', key: this.key } satisfies PrimarySays
    worker.process.send(message, socket, { keepOpen: true }, () => {})
  }

  private withdraw(worker: Worker): void {
    this.workers.delete(worker)
    this.leaving.delete(worker)
    const turn = this.free.indexOf(worker)
    if (turn !== -1) this.free.splice(turn, 1)
  }
}
