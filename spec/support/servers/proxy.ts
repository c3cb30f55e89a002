import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A proxy between an application and its database server, which simulates a failing network. */
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
  close(): Promise<void>
}

/** Opens a proxy before the server of a url. */
export async function openProxy(target: string): Promise<Proxy> {
  const url = new URL(target)
  const { port, hostname } = url
  const sockets = new Set<Socket>()
  let cutting: { text: string; when: 'before' | 'after' } | undefined
  let isSwallowing = false

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let isCut = false
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
      upstream.write(data)
    })
    upstream.on('data', (data) => {
      if (!isSwallowing && !isCut) client.write(data)
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
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}
