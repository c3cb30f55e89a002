import { Server, type AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { AddressRefused, DeclarationError, PortTaken } from '../errors.js'

/** Milliseconds that `stopListening` waits for a moment in which no connection comes. Where they never cease, it must end. */
const mostWaiting = 1000

/** Milliseconds that such a moment takes at most. What comes while we do something else waits unseen. */
const shortMoment = 0.5

/**
 * Lets a server listen on a port; 0 takes any that is free.
 *
 * @returns the address: `http://127.0.0.1:3000`
 * @throws PortTaken when another process listens there, AddressRefused when the system does not let us
 */
export async function listenOn(server: Server, port: number, host: string | undefined): Promise<string> {
  await new Promise<void>((listening, failed) => {
    server.once('error', (error) => failed(explainListening(error, port, host)))
    server.listen({ port, ...(host && { host }) }, listening)
  })
  // A server that listens on a port has an AddressInfo; a text would be the path of a socket.
  const { address, port: taken } = server.address() as AddressInfo
  return httpAddress(address, taken)
}

/**
 * Stops listening. Connections that the system has taken for us meanwhile are accepted first: closing at once would
 * reset them. Those that are open stay open, idle ones too, which `close` of an HTTP server would cut.
 */
export async function stopListening(server: Server): Promise<void> {
  const end = performance.now() + mostWaiting
  let isQuiet = false
  const disturb = (): void => void (isQuiet = false)
  server.on('connection', disturb)
  while (!isQuiet && performance.now() < end) {
    await setImmediate()
    isQuiet = true
    const began = performance.now()
    // After the event loop has looked at the port again, and at all else.
    await setImmediate()
    if (performance.now() - began > shortMoment) isQuiet = false
  }
  server.off('connection', disturb)
  Server.prototype.close.call(server)
}

/** `http://127.0.0.1:3000`; where a server listens on every address, that of this machine. */
export function httpAddress(host: string | undefined, port: number): string {
  if (host === undefined || host === '::' || host === '0.0.0.0') return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Says in one sentence why a server cannot listen. An error of another kind is returned as it is. */
export function explainListening(error: Error, port: number, host: string | undefined): Error {
  const code = String(Reflect.get(error, 'code'))
  if (code === 'EADDRINUSE') return new PortTaken(port, error)
  return AddressRefused.knows(code) ? new AddressRefused(httpAddress(host, port), code, error) : error
}

/**
 * The port that the process is to listen on: `PORT`, else 3000.
 *
 * @throws DeclarationError when it is none
 */
export function currentPort(): number {
  const text = process.env['PORT'] || '3000'
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new DeclarationError(`PORT is "${text}", which is no port. Set it to a number from 0 to 65535.`)
}
