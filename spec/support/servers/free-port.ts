import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** A port on which no server listens. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // A server that listens on a port has an AddressInfo.
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  return port
}
