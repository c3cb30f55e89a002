import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port on which no server listens. Linux uses higher ones for connections and for servers that listen on port 0. */
export async function freePort(): Promise<number> {
  const port = randomInt(10_000, 32_000)
  return (await isFree(port)) ? port : freePort()
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    return true
  } catch {
    return false
  } finally {
    await new Promise((closed) => server.close(closed))
  }
}
