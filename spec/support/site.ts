import { connect } from 'node:net'
import type { App } from '../../src/index.js'
import { Client, type ClientResponse, type RequestOptions } from '../../src/testing/index.js'

/** The request of a spec. */
export type SpecRequest = RequestOptions
/** The response. */
export type SpecResponse = ClientResponse

/** The sites that a spec, or a hook around it, has opened. An open application would change the specs that follow. */
const ofSpec = new Set<Site>()
let isInSpec = false

/** Mocha calls these around each spec, in each of its processes. */
export const siteHooks = {
  beforeEach() {
    isInSpec = true
  },

  /** Closes what a failing spec or hook has left open. */
  async afterEach() {
    isInSpec = false
    for (const site of ofSpec) await site.close()
  },
}

/** An application that listens on a free port, and the browser that visits it. */
export class Site extends Client {
  /**
   * Browsers request pages, also from an API application.
   *
   * @param prepare further steps. If one fails, the application is closed.
   */
  static async open(app: App, prepare?: (site: Site) => Promise<unknown>): Promise<Site> {
    const site = new Site(app, { accept: 'html' })
    try {
      await site.open()
      await prepare?.(site)
    } catch (error) {
      await site.close()
      throw error
    }
    if (isInSpec) ofSpec.add(site)
    return site
  }

  override async close(): Promise<void> {
    ofSpec.delete(this)
    await super.close()
  }

  /** Sends raw bytes, for requests that no client would send, and returns everything that is received. */
  raw(bytes: string): Promise<string> {
    const { hostname, port } = new URL(this.url)
    return new Promise((response, reject) => {
      let received = ''
      const socket = connect(Number(port), hostname, () => socket.write(bytes))
      socket.setTimeout(60_000, () => socket.destroy())
      socket.on('data', (chunk) => (received += chunk.toString()))
      socket.on('error', reject)
      socket.on('close', () => response(received))
    })
  }
}
