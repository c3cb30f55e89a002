import { connect } from 'node:net'
import type { App } from '../../src/index.js'
import { Client, type ClientResponse, type RequestOptions } from '../../src/testing/index.js'

/** The request of a spec. */
export type SpecRequest = RequestOptions
/** The response. */
export type SpecResponse = ClientResponse

/** An application that listens on a free port, and the browser that visits it. */
export class Site extends Client {
  /** Browsers request pages, also from an API application. */
  static async open(app: App): Promise<Site> {
    return new Site(app, { accept: 'html' }).open()
  }

  /** Sends raw bytes, for requests that no client would send, and returns everything that is received. */
  raw(bytes: string): Promise<string> {
    const { hostname, port } = new URL(this.url)
    return new Promise((response, reject) => {
      let received = ''
      const socket = connect(Number(port), hostname, () => socket.write(bytes))
      socket.setTimeout(2000, () => socket.destroy())
      socket.on('data', (chunk) => (received += chunk.toString()))
      socket.on('error', reject)
      socket.on('close', () => response(received))
    })
  }
}
