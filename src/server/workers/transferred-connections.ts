import { Server, type Socket } from 'node:net'
import { explainListening } from '../port.js'
import type { ConnectionSource } from '../graceful-server.js'
import { readMessage, reportToPrimary, type PrimaryMessage } from './messages.js'

/** The connections that the primary process accepts and transfers to this worker. */
export class TransferredConnections implements ConnectionSource {
  private key = ''
  private isOpen = false
  private resolve: ((response: PrimaryMessage) => void) | undefined

  constructor(private readonly server: Server) {}

  async open(port: number, host: string | undefined): Promise<string> {
    this.key = `${host ?? ''}:${port}`
    this.isOpen = true
    process.on('message', this.receive)
    // The HTTP server starts its request timeouts with this event.
    this.server.emit('listening')
    const response = await this.request({ kit: 'open', key: this.key, port, host })
    if (response.kit === 'opened') return response.address
    this.isOpen = false
    process.off('message', this.receive)
    if (response.kit !== 'failed') throw new Error('The primary process of this worker has ended.')
    const { code, message } = response
    throw explainListening(Object.assign(new Error(message), { code }), port, host)
  }

  async close(): Promise<void> {
    if (!this.isOpen) return
    if (process.connected) await this.request({ kit: 'withdraw', key: this.key })
    process.off('message', this.receive)
    process.channel?.unref()
  }

  private request(message: Parameters<typeof reportToPrimary>[0]): Promise<PrimaryMessage> {
    return new Promise((resolve) => {
      this.resolve = resolve
      // Without a primary, nothing more is transferred.
      process.once('disconnect', () => resolve({ kit: 'withdrawn', key: this.key }))
      reportToPrimary(message)
    })
  }

  private readonly receive = (value: unknown, socket: Socket | undefined): void => {
    const message = readMessage<PrimaryMessage>(value)
    if (!message || message.kit === 'wake' || message.key !== this.key) return
    if (message.kit !== 'connection') return this.resolve?.(message)
    // Sent before anything is read: the primary transfers an unconfirmed connection to another worker when
    // this one dies.
    reportToPrimary({ kit: 'received', key: this.key })
    // The client has closed the connection meanwhile.
    if (!socket) return
    // As in the connections that an HTTP server accepts itself.
    socket.allowHalfOpen = true
    this.server.emit('connection', socket)
  }
}
