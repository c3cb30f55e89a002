import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A proxy before a server, of a database or an application, which simulates a failing network. */
export interface Proxy {
  /** The url of the server, through the proxy. */
  url: string
  /**
   * Closes the next connection on which a text is sent to the server.
   *
   * @param when whether the server still receives the text
   */
  cut(text: string, when: 'before' | 'after'): void
  /** Discards everything that is sent from now on, in both directions, without closing anything. */
  swallow(): void
  /** Closes all connections, and each new one, or accepts them again. */
  away(isAway: boolean): void
  close(): Promise<void>
}

/** Where a connection is cut: after this many bytes to the server, or to the client. */
export interface Cut {
  to: 'server' | 'client'
  after: number
}

/**
 * Opens a proxy before the server of a url.
 *
 * @param cutOf where to cut the next connection; undefined for one that is not cut
 */
export async function openProxy(
  target: string,
  cutOf: () => Cut | undefined = () => undefined,
): Promise<Proxy> {
  const url = new URL(target)
  const { port, hostname } = url
  const sockets = new Set<Socket>()
  let cutting: { text: string; when: 'before' | 'after' } | undefined
  let isSwallowing = false
  let isAway = false

  const server = createServer((client) => {
    if (isAway) return void client.destroy()
    const upstream = connect(Number(port), hostname)
    let isCut = false
    const cut = cutOf()
    let left = cut?.after ?? Infinity
    /** Passes on data, up to the cut. */
    const pass = (to: Cut['to'], data: Buffer): void => {
      const socket = to === 'server' ? upstream : client
      if (to !== cut?.to || data.length < left) socket.write(data)
      else socket.write(data.subarray(0, left), () => [client, upstream].forEach((one) => one.destroy()))
      if (to !== cut?.to) return
      left -= data.length
      isCut = left <= 0
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    }
    client.on('data', (data) => {
      if (isSwallowing || isCut) return
      if (cutting && data.includes(cutting.text)) {
        isCut = true
        if (cutting.when === 'after') upstream.write(data)
        cutting = undefined
        // The server has time to execute the text.
        setTimeout(() => [client, upstream].forEach((socket) => socket.destroy()), 100)
        return
      }
      pass('server', data)
    })
    upstream.on('data', (data) => {
      if (!isSwallowing && !isCut) pass('client', data)
    })
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  // A server that listens on a port has an AddressInfo.
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    cut: (text, when) => (cutting = { text, when }),
    swallow: () => (isSwallowing = true),
    away: (next) => {
      isAway = next
      if (isAway) for (const socket of sockets) socket.destroy()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}
