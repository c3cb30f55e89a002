import { Server, type AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { AddressUnavailable, DeclarationError, PortInUse } from '../errors.js'

/** The maximum milliseconds that `stopListening` waits for a turn of the loop without connections. */
const maxWait = 1000

/** The maximum milliseconds of such a turn. In a longer one, connections may be unnoticed. */
const maxTurn = 0.5

/**
 * Listens on a port; 0 takes any free port.
 *
 * @returns the address: `http://127.0.0.1:3000`
 * @throws PortInUse when another process listens there, AddressUnavailable when the system rejects the
 *   address
 */
export async function listenOn(server: Server, port: number, host: string | undefined): Promise<string> {
  await new Promise<void>((listening, failed) => {
    server.once('error', (error) => failed(explainListening(error, port, host)))
    server.listen({ port, ...(host && { host }) }, listening)
  })
  // The address of a server that listens on a port is an AddressInfo; a string would be the path of a socket.
  const { address, port: ownPort } = server.address() as AddressInfo
  return httpAddress(address, ownPort)
}

/**
 * Stops listening. Connections that wait in the system's backlog are accepted first, because closing at once
 * would reset them. Open connections stay open.
 */
export async function stopListening(server: Server): Promise<void> {
  const end = performance.now() + maxWait
  let isQuiet = false
  const onConnection = (): void => void (isQuiet = false)
  server.on('connection', onConnection)
  while (!isQuiet && performance.now() < end) {
    await setImmediate()
    isQuiet = true
    const began = performance.now()
    // In the meantime, the event loop accepts new connections.
    await setImmediate()
    if (performance.now() - began > maxTurn) isQuiet = false
  }
  server.off('connection', onConnection)
  // The `close` of an HTTP server would also close idle connections.
  Server.prototype.close.call(server)
}

/** `http://127.0.0.1:3000`; `localhost` if the server listens on every address. */
export function httpAddress(host: string | undefined, port: number): string {
  if (host === undefined || host === '::' || host === '0.0.0.0') return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** The address of the application that runs in this process. */
let ownAddress: string | undefined

/** Sets the address of the application that runs in this process; undefined when it has stopped. */
export function setOwnAddress(address: string | undefined): void {
  ownAddress = address
}

/**
 * The address at which a visitor reaches this process if `BASE_URL` isn't set: that which `kit dev` or
 * `kit start` prints. One address everywhere, because a browser sends the cookies of `localhost` not to
 * `127.0.0.1`.
 */
export function localAddress(): string {
  const { KIT_DEV, KIT_DEV_PORT, HOST } = process.env
  if (KIT_DEV && KIT_DEV_PORT) return httpAddress(KIT_DEV, Number(KIT_DEV_PORT))
  return ownAddress ?? httpAddress(HOST || '127.0.0.1', currentPort())
}

/** Returns an error that explains why a server cannot listen. Others are returned unchanged. */
export function explainListening(error: Error, port: number, host: string | undefined): Error {
  const code = String(Reflect.get(error, 'code'))
  if (code === 'EADDRINUSE') return new PortInUse(port, error)
  return AddressUnavailable.knows(code) ? new AddressUnavailable(httpAddress(host, port), code, error) : error
}

/**
 * The configured port: `PORT`, else 3000.
 *
 * @throws DeclarationError when `PORT` isn't a port
 */
export function currentPort(): number {
  const text = process.env['PORT'] || '3000'
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new DeclarationError(
    `PORT is "${text}", which isn't a valid port. Set it to a number from 0 to 65535.`,
  )
}
