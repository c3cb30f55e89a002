import { Server, type Socket } from 'node:net'
import { explainListening } from '../server/port.js'
import type { Entrance } from '../server/graceful-server.js'
import { readMessage, tellPrimary, type PrimarySays } from './messages.js'

/** Lets in the connections that a worker is handed. The process that has started it listens for all workers. */
export class HandedConnections implements Entrance {
  private key = ''
  private isOpen = false
  private settle: ((answer: PrimarySays) => void) | undefined

  constructor(private readonly server: Server) {}

  async open(port: number, host: string | undefined): Promise<string> {
    this.key = `${host ?? ''}:${port}`
    this.isOpen = true
    process.on('message', this.listen)
    // From here on it watches over the time that requests take, as one does that listens itself.
    this.server.emit('listening')
    const answer = await this.ask({ kit: 'open', key: this.key, port, host })
    if (answer.kit === 'opened') return answer.address
    this.isOpen = false
    process.off('message', this.listen)
    if (answer.kit !== 'refused') throw new Error('The process that has started this worker is gone.')
    const { code, message } = answer
    throw explainListening(Object.assign(new Error(message), { code }), port, host)
  }

  async close(): Promise<void> {
    if (!this.isOpen) return
    if (process.connected) await this.ask({ kit: 'leave', key: this.key })
    process.off('message', this.listen)
    process.channel?.unref()
  }

  private ask(question: Parameters<typeof tellPrimary>[0]): Promise<PrimarySays> {
    return new Promise((settle) => {
      this.settle = settle
      process.once('disconnect', () => settle({ kit: 'left', key: this.key }))
      tellPrimary(question)
    })
  }

  private readonly listen = (value: unknown, socket: Socket | undefined): void => {
    const message = readMessage<PrimarySays>(value)
    if (message?.key !== this.key) return
    if (message.kit !== 'connection') return this.settle?.(message)
    // Before anything is read: what was not taken is handed to another worker when this one dies.
    tellPrimary({ kit: 'taken', key: this.key })
    if (!socket) return
    socket.allowHalfOpen = true
    this.server.emit('connection', socket)
  }
}
