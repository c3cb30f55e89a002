import { Agent, request } from 'node:http'

/** How a request has ended: with a response, or with the code of an error. */
export interface Outcome {
  status?: number
  body?: string
  /** Whether the server keeps the connection. */
  keeps?: boolean
  error?: string
  /** Whether the error came on a connection that had not served a request before. */
  isNewConnection?: boolean
}

/** A client with connections of its own. */
export class Client {
  private readonly agent: Agent

  constructor(
    private readonly url: string,
    connections = 10,
    keepAlive = true,
  ) {
    this.agent = new Agent({ keepAlive, maxSockets: connections })
  }

  get(path: string): Promise<Outcome> {
    return this.send('GET', path)
  }

  post(path: string, json: unknown): Promise<Outcome> {
    return this.send('POST', path, JSON.stringify(json))
  }

  put(path: string, json: unknown): Promise<Outcome> {
    return this.send('PUT', path, JSON.stringify(json))
  }

  delete(path: string): Promise<Outcome> {
    return this.send('DELETE', path)
  }

  close(): void {
    this.agent.destroy()
  }

  private send(method: string, path: string, body?: string): Promise<Outcome> {
    return new Promise((resolve) => {
      const headers = { Accept: 'application/json', ...(body && { 'Content-Type': 'application/json' }) }
      const sent = request(this.url + path, { method, agent: this.agent, headers, timeout: 110_000 })
      sent.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', (error) => resolve({ error: `cut off: ${error.message}` }))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(chunks).toString(),
            keeps: response.headers.connection !== 'close',
          }),
        )
      })
      sent.on('timeout', () => sent.destroy(new Error('no response')))
      sent.on('error', (error) =>
        resolve({
          error: String(Reflect.get(error, 'code') ?? error.message),
          isNewConnection: !sent.reusedSocket,
        }),
      )
      sent.end(body)
    })
  }
}
