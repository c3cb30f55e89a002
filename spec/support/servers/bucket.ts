import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { AwsV4Signer } from 'aws4fetch'
import { temporaryFolder } from '../temporary-folder.js'

/** The keys of all buckets. */
export const bucketKeys = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }

/** The part of s3rver that the specs use. It has no types. */
interface S3rver {
  run(): Promise<{ port: number }>
  close(): Promise<void>
}
const Rver: new (options: object) => S3rver = createRequire(import.meta.url)('s3rver')

/** Starts a real server with an empty bucket, which does not verify signatures. */
export async function startS3rver(): Promise<{
  url: string
  environment: NodeJS.ProcessEnv
  close(): Promise<void>
}> {
  const options = { port: 0, address: '127.0.0.1', silent: true, directory: temporaryFolder() }
  const s3rver = new Rver({ ...options, configureBuckets: [{ name: 'bucket', configs: [] }] })
  const { port } = await s3rver.run()
  const environment = {
    TEST_FILES_URL: `s3://bucket?region=us-east-1&endpoint=http://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: bucketKeys.accessKeyId,
    AWS_SECRET_ACCESS_KEY: bucketKeys.secretAccessKey,
  }
  return { url: `http://127.0.0.1:${port}/bucket/`, environment, close: () => s3rver.close() }
}

/** Whether the signature of a request is valid, and the hash that it signs is that of its content. */
export async function isSigned(request: IncomingMessage, content: Buffer, region: string): Promise<boolean> {
  const { authorization = '', host } = request.headers
  const names = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(';') ?? []
  const signed = names.filter((name) => name !== 'host')
  const signer = new AwsV4Signer({
    ...bucketKeys,
    method: request.method ?? '',
    url: `http://${host}${request.url}`,
    headers: Object.fromEntries(signed.map((name) => [name, String(request.headers[name])])),
    service: 's3',
    region,
    datetime: String(request.headers['x-amz-date']),
  })
  const expected = (await signer.sign()).headers.get('authorization')
  const hash = createHash('sha256').update(content).digest('hex')
  return authorization === expected && request.headers['x-amz-content-sha256'] === hash
}

/** How a bucket responds: it works, or it fails in a way. */
export type BucketState = 'works' | 'refuses' | 'fails' | 'stalls' | 'cuts' | 'cuts a file'

/** A bucket that verifies all signatures, and fails as it is told. */
export class FailingBucket {
  state: BucketState = 'works'
  readonly objects = new Map<string, Buffer>()
  /** The number of requests, and of those without a valid signature. */
  readonly counts = { requests: 0, unsigned: 0 }
  private readonly server = createServer((request, response) => void this.respond(request, response))

  async start(): Promise<string> {
    this.server.listen(0, '127.0.0.1')
    await once(this.server, 'listening')
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/bucket/`
  }

  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const content = await buffer(request)
    const { state, objects } = this
    const key = request.url ?? ''
    this.counts.requests += 1
    if (!(await isSigned(request, content, 'eu-central-1'))) this.counts.unsigned += 1
    if (state === 'refuses') return response.writeHead(403).end('<Code>AccessDenied</Code>')
    if (state === 'fails') return response.writeHead(500).end('broken')
    if (state === 'stalls') return undefined
    if (state === 'cuts') return request.socket.destroy()
    if (request.method === 'PUT') objects.set(key, content)
    if (request.method === 'DELETE') objects.delete(key)
    const object = objects.get(key) ?? Buffer.alloc(0)
    if (request.method !== 'GET') return response.end()
    if (state === 'works') return response.end(object)
    response.writeHead(200, { 'content-length': object.length })
    response.write(object.subarray(0, 1))
    return setTimeout(() => request.socket.destroy(), 10)
  }
}
