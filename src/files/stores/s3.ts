import { createReadStream } from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { text } from 'node:stream/consumers'
import { AwsClient } from 'aws4fetch'
import type { Logger } from 'pino'
import { retry } from '../../extension.js'
import { FileMissing, type FileStore, type LocalFile } from './store.js'

/** The keys by which requests are signed. */
export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
}

/** A bucket. */
export interface S3Bucket {
  /** Its URL: `https://bucket.s3.eu-central-1.amazonaws.com/`. */
  url: string
  /** The beginning of its keys: `app/`, or nothing. */
  prefix: string
  region: string
  /** Returns the keys, which may change with time. */
  credentials: () => S3Credentials | Promise<S3Credentials>
}

/** Milliseconds to connect, and without progress. */
const timeouts = { connect: 5000, idle: 30_000 }

/** How a request is repeated that the bucket did not answer, or with 5xx. */
const repetitions = { retries: 2, first: 100, max: 400 }

/** The parts of a request beside its path. */
interface Sending {
  headers?: Record<string, string>
  query?: Record<string, string>
  file?: LocalFile
}

/** The bucket has rejected a request. */
class Rejected extends Error {}

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
    const headers = { 'content-length': String(file.byte_size), 'content-type': file.content_type }
    await this.finish('PUT', this.pathOf(key), { headers, file })
  }

  read(key: string, range?: { start: number; end: number }): Promise<Readable> {
    const headers: Record<string, string> = range ? { range: `bytes=${range.start}-${range.end}` } : {}
    return this.send('GET', this.pathOf(key), { headers })
  }

  async remove(key: string): Promise<void> {
    await this.finish('DELETE', this.pathOf(key), {})
  }

  async *list(): AsyncIterable<string> {
    const { prefix } = this.bucket
    let token: string | undefined
    do {
      const query = { 'list-type': '2', prefix, ...(token && { 'continuation-token': token }) }
      const page = await this.finish('GET', '', { query })
      for (const [, key = ''] of page.matchAll(/<Key>([^<]+)<\/Key>/g)) yield key.slice(prefix.length)
      token = /<NextContinuationToken>([^<]+)</.exec(page)?.[1]
    } while (token)
  }

  async urlOf(key: string, { type, disposition }: { type: string; disposition: string }): Promise<string> {
    const url = new URL(this.bucket.url + this.pathOf(key))
    url.searchParams.set('X-Amz-Expires', '60')
    url.searchParams.set('response-content-type', type)
    url.searchParams.set('response-content-disposition', disposition)
    const client = await this.client()
    return (await client.sign(url, { method: 'GET', aws: { signQuery: true } })).url
  }

  private pathOf(key: string): string {
    return this.bucket.prefix + key
  }

  private async client(): Promise<AwsClient> {
    const { sessionToken, ...keys } = await this.bucket.credentials()
    const { region } = this.bucket
    return new AwsClient({ ...keys, ...(sessionToken && { sessionToken }), region, service: 's3' })
  }

  /** Sends a request, and returns the text of its response. */
  private async finish(method: string, path: string, sending: Sending): Promise<string> {
    return text(await this.send(method, path, sending))
  }

  /**
   * Sends a request, and repeats it after 5xx and lost connections.
   *
   * @throws FileMissing when the bucket has no such object
   */
  private send(method: string, path: string, sending: Sending): Promise<http.IncomingMessage> {
    const attempt = async () => {
      const response = await this.sendOnce(method, path, sending)
      const { statusCode = 0 } = response
      if (statusCode >= 200 && statusCode < 300) return response
      const reason = (await text(response)).slice(0, 300)
      if (statusCode === 404) throw new FileMissing(`The bucket has no object ${path}: ${reason}`)
      const message = `The bucket responded with ${statusCode} to ${method} ${path}: ${reason}`
      throw statusCode < 500 ? new Rejected(message) : new Error(message)
    }
    const isTemporary = (error: unknown) => !(error instanceof Rejected || error instanceof FileMissing)
    return retry(attempt, { ...repetitions, isTemporary })
  }

  private async sendOnce(
    method: string,
    path: string,
    { headers = {}, query = {}, file }: Sending,
  ): Promise<http.IncomingMessage> {
    const url = new URL(this.bucket.url + path)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const unsigned = { ...headers, 'x-amz-content-sha256': file?.sha256 ?? emptyHash }
    const client = await this.client()
    const signed = await client.sign(url, { method, headers: unsigned })
    return this.request(new URL(signed.url), method, Object.fromEntries(signed.headers), file)
  }

  private request(
    url: URL,
    method: string,
    headers: Record<string, string>,
    file: LocalFile | undefined,
  ): Promise<http.IncomingMessage> {
    const protocol = url.protocol as 'http:' | 'https:'
    const { request } = protocol === 'https:' ? https : http
    return new Promise((resolve, reject) => {
      const sent = request(url, { method, headers, agent: this.agents[protocol] })
      const fail = (what: string) => () => sent.destroy(new Error(`The bucket did not ${what} in time.`))
      const connecting = setTimeout(fail('accept the connection'), this.limits.connect)
      const connected = () => clearTimeout(connecting)
      sent.on('socket', (socket) => {
        if (!socket.connecting) connected()
        else socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', connected)
      })
      sent.setTimeout(this.limits.idle, fail('make progress'))
      sent.on('close', connected)
      sent.on('error', reject)
      sent.on('response', resolve)
      if (!file) sent.end()
      // The response decides, even if the bucket has closed the connection before it has read everything.
      else pipeline(createReadStream(file.path), sent).catch(reject)
    })
  }
}

/** The SHA-256 of no bytes. */
const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
