import { createReadStream } from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { AwsClient } from 'aws4fetch'
import type { Logger } from 'pino'
import { FileMissing, type FileStore, type LocalFile } from './store.js'

/** The keys by which requests are signed. */
export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
}

/** A bucket. */
export interface S3Bucket {
  /** The URL of the objects, with the prefix of their keys: `https://bucket.s3.eu-central-1.amazonaws.com/`. */
  url: string
  region: string
  /** Returns the keys, which may change with time. */
  credentials: () => S3Credentials | Promise<S3Credentials>
}

/** Milliseconds to connect, and without progress. */
const timeouts = { connect: 5000, idle: 30_000 }

/** The number of repetitions of a request that the store did not answer, or with 5xx. */
const repetitions = 2

/** The response to a request, before its body is read. */
interface Sent {
  status: number
  body: http.IncomingMessage
}

/** The options of a request. */
interface Sending {
  headers?: Record<string, string>
  query?: Record<string, string>
  body?: LocalFile
}

/** Stores files in an S3 bucket. Requests are signed by aws4fetch, and sent by Node, which holds no file in memory. */
export class S3Store implements FileStore {
  private readonly agents = {
    'http:': new http.Agent({ keepAlive: true }),
    'https:': new https.Agent({ keepAlive: true }),
  }

  constructor(
    private readonly bucket: S3Bucket,
    private readonly limits = timeouts,
  ) {}

  /** Asks for the bucket, and does not wait for it: the application starts without it, too. */
  async start(logger: Pick<Logger, 'warn'>): Promise<void> {
    this.finish('GET', '', { query: { 'list-type': '2', 'max-keys': '1' } }).catch((err: unknown) => {
      // Keys may be allowed to read and write, and not to list.
      if (!String(err).includes('AccessDenied'))
        logger.warn(
          { err },
          'The bucket of FILES_URL does not respond as it should. Uploads and files are 503.',
        )
    })
  }

  async write(key: string, file: LocalFile): Promise<void> {
    const headers = {
      'content-length': String(file.byte_size),
      'content-type': file.content_type,
      'x-amz-content-sha256': file.sha256,
    }
    await this.finish('PUT', key, { headers, body: file })
  }

  async read(key: string, range?: { start: number; end: number }): Promise<Readable> {
    const headers: Record<string, string> = range ? { range: `bytes=${range.start}-${range.end}` } : {}
    const { status, body } = await this.send('GET', key, { headers })
    if (status === 200 || status === 206) return body
    const reason = await text(body)
    if (status === 404) throw new FileMissing(`The bucket has no object ${key}.`)
    throw new Error(`The bucket responded with ${status} to GET ${key}: ${reason.slice(0, 300)}`)
  }

  async remove(key: string): Promise<void> {
    await this.finish('DELETE', key, {})
  }

  async *list(): AsyncIterable<string> {
    const prefix = new URL(this.bucket.url).pathname
      .split('/')
      .slice(this.isInPath ? 2 : 1)
      .join('/')
    let token: string | undefined
    do {
      const query = { 'list-type': '2', prefix, ...(token && { 'continuation-token': token }) }
      const page = await this.finish('GET', '', { query })
      for (const [, key = ''] of page.matchAll(/<Key>([^<]+)<\/Key>/g)) yield key.slice(prefix.length)
      token = /<NextContinuationToken>([^<]+)</.exec(page)?.[1]
    } while (token)
  }

  async urlOf(key: string, { type, disposition }: { type: string; disposition: string }): Promise<string> {
    const url = new URL(this.bucket.url + key)
    url.searchParams.set('X-Amz-Expires', '60')
    url.searchParams.set('response-content-type', type)
    url.searchParams.set('response-content-disposition', disposition)
    const client = await this.client()
    return (await client.sign(url, { method: 'GET', aws: { signQuery: true } })).url
  }

  /** Whether the bucket is the first part of the path, and not of the host. */
  private get isInPath(): boolean {
    const { pathname, hostname } = new URL(this.bucket.url)
    return !hostname.endsWith('.amazonaws.com') && pathname !== '/'
  }

  private async client(): Promise<AwsClient> {
    const { sessionToken, ...keys } = await this.bucket.credentials()
    const { region } = this.bucket
    return new AwsClient({
      ...keys,
      ...(sessionToken && { sessionToken }),
      region,
      service: 's3',
      retries: 0,
    })
  }

  /** Sends a request, and returns the text of its response. */
  private async finish(method: string, key: string, sending: Sending): Promise<string> {
    const { status, body } = await this.send(method, key, sending)
    const reason = await text(body)
    if (status >= 200 && status < 300) return reason
    throw new Error(`The bucket responded with ${status} to ${method} ${key}: ${reason.slice(0, 300)}`)
  }

  /** Sends a request, and repeats it after 5xx and lost connections. */
  private async send(method: string, key: string, sending: Sending): Promise<Sent> {
    for (let count = 0; ; count++) {
      try {
        const sent = await this.sendOnce(method, key, sending)
        if (sent.status < 500 || count === repetitions) return sent
        sent.body.resume()
      } catch (error) {
        if (count === repetitions) throw error
      }
      await delay(100 * 4 ** count)
    }
  }

  private async sendOnce(method: string, key: string, { headers = {}, query, body }: Sending): Promise<Sent> {
    const base = key === '' && query ? this.root : this.bucket.url
    const url = new URL(base + key)
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value)
    const client = await this.client()
    const unsigned = { 'x-amz-content-sha256': body?.sha256 ?? emptyHash, ...headers }
    const signed = await client.sign(url, { method, headers: unsigned })
    return this.request(new URL(signed.url), method, Object.fromEntries(signed.headers), body)
  }

  /** The URL of the bucket without a prefix. */
  private get root(): string {
    const { origin, pathname } = new URL(this.bucket.url)
    return this.isInPath ? `${origin}/${pathname.split('/')[1]}` : `${origin}/`
  }

  private request(
    url: URL,
    method: string,
    headers: Record<string, string>,
    body?: LocalFile,
  ): Promise<Sent> {
    const { request } = url.protocol === 'https:' ? https : http
    const agent = this.agents[url.protocol as 'http:' | 'https:']
    return new Promise((resolve, reject) => {
      const sent = request(url, { method, headers, agent })
      const fail = (what: string) => () => sent.destroy(new Error(`The bucket did not ${what} in time.`))
      const connecting = setTimeout(fail('accept the connection'), this.limits.connect)
      sent.on('socket', (socket) => {
        if (!socket.connecting) clearTimeout(connecting)
        else
          socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(connecting))
      })
      sent.setTimeout(this.limits.idle, fail('make progress'))
      sent.on('close', () => clearTimeout(connecting))
      sent.on('error', reject)
      sent.on('response', (response) => resolve({ status: response.statusCode ?? 0, body: response }))
      if (!body) sent.end()
      // The response decides, even if the bucket has closed the connection before it has read everything.
      else pipeline(createReadStream(body.path), sent).catch(reject)
    })
  }
}

/** The SHA-256 of no bytes. */
const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
