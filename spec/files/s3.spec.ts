import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { S3Store } from '../../src/files/stores/s3.js'
import { openStore } from '../../src/files/stores/open-store.js'
import { FileMissing } from '../../src/files/stores/store.js'
import { describeOnce } from '../support/engine.js'
import { failure } from '../support/failure.js'
import { bucketKeys, isSigned, startS3rver } from '../support/servers/bucket.js'
import { temporaryFolder } from '../support/temporary-folder.js'

async function keysIn(store: S3Store): Promise<string[]> {
  const keys: string[] = []
  for await (const key of store.list()) keys.push(key)
  return keys
}

const credentials = () => bucketKeys
const folder = temporaryFolder()

/** A local file with the content. */
function localFile(content: string) {
  const path = join(folder, String(Math.random()))
  writeFileSync(path, content)
  const sha256 = createHash('sha256').update(content).digest('hex')
  return { path, byte_size: content.length, sha256, content_type: 'text/plain' }
}

describeOnce('A store in a bucket', () => {
  let s3rver: Awaited<ReturnType<typeof startS3rver>>
  let store: S3Store

  before(async () => {
    s3rver = await startS3rver()
    store = new S3Store({ url: s3rver.url, prefix: 'app/', region: 'eu-central-1', credentials })
  })
  after(() => s3rver.close())

  const text = async (key: string, range?: { start: number; end: number }) =>
    (await buffer(await store.read(key, range))).toString()

  it('writes, reads, lists and removes files', async () => {
    const keys = ['a'.repeat(40), 'b'.repeat(40)]
    for (const key of keys) await store.write(key, localFile(`content of ${key}`))
    expect(await text(keys[0] ?? '')).to.equal(`content of ${keys[0]}`)
    expect(await text(keys[0] ?? '', { start: 3, end: 6 })).to.equal('tent')
    expect(await keysIn(store)).to.deep.equal(keys)
    await store.remove(keys[0] ?? '')
    await store.remove(keys[0] ?? '')
    expect(await failure(store.read(keys[0] ?? ''))).to.be.instanceOf(FileMissing)
    expect(await keysIn(store)).to.deep.equal(keys.slice(1))
  })
})

describeOnce('A server of a bucket that verifies, fails and stalls', () => {
  let server: Server
  let store: S3Store
  let respond: (request: IncomingMessage, response: ServerResponse, count: number) => unknown
  let requests: IncomingMessage[]

  before(async () => {
    server = createServer((request, response) => {
      requests.push(request)
      void respond(request, response, requests.length)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/bucket/`
    store = new S3Store({ url, prefix: '', region: 'eu-central-1', credentials })
  })
  after(() => server.close())
  beforeEach(() => {
    requests = []
  })

  it('receives one PUT with the length, the SHA-256 and a valid signature', async () => {
    const verified: boolean[] = []
    respond = async (request, response) => {
      const content = await buffer(request)
      verified.push(await isSigned(request, content, 'eu-central-1'))
      verified.push(Number(request.headers['content-length']) === content.length)
      response.end()
    }
    await store.write('key', localFile('some content'))
    expect(verified).to.deep.equal([true, true])
    expect(requests).to.have.length(1)
  })

  it('is asked again after 5xx and a cut connection, twice', async () => {
    respond = async (request, response, count) => {
      await buffer(request).catch(() => undefined)
      if (count === 1) response.writeHead(503).end('slow down')
      else if (count === 2) request.socket.destroy()
      else response.end()
    }
    await store.write('key', localFile('x'.repeat(100_000)))
    expect(requests).to.have.length(3)
    respond = (_request, response) => response.writeHead(500).end('broken')
    requests = []
    const error = await failure(store.write('key', localFile('x')))
    expect(String(error)).to.contain('The bucket responded with 500 to PUT key: broken')
    expect(requests).to.have.length(3)
  })

  it('is not asked again after 4xx, whose reason is in the error', async () => {
    respond = (_request, response) => response.writeHead(403).end('<Code>AccessDenied</Code>')
    const error = await failure(store.write('key', localFile('x')))
    expect(String(error)).to.contain('403 to PUT key: <Code>AccessDenied</Code>')
    expect(requests).to.have.length(1)
  })

  it('stalls: before it responds, and within a file', async () => {
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/bucket/`
    const bucket = { url, prefix: '', region: 'x', credentials }
    const impatient = new S3Store(bucket, { connect: 5000, idle: 50 })
    respond = () => undefined
    for (const work of [() => impatient.write('key', localFile('x')), () => impatient.read('key')])
      expect(String(await failure(work()))).to.contain('The bucket did not make progress in time.')
    respond = (_request, response) => response.writeHead(200, { 'content-length': '10' }).write('half')
    expect(await failure(buffer(await impatient.read('key')))).to.be.instanceOf(Error)
    server.closeAllConnections()
  })

  it('is away', async () => {
    const url = 'http://127.0.0.1:1/bucket/'
    const away = new S3Store({ url, prefix: '', region: 'eu-central-1', credentials })
    expect(String(await failure(away.read('key')))).to.contain('ECONNREFUSED')
  })
})

describeOnce('FILES_URL', () => {
  const open = async (url: string, env: NodeJS.ProcessEnv = {}) => {
    const before = { ...process.env }
    Object.assign(process.env, { FILES_URL: url, ...env })
    try {
      return await openStore('production', credentials)
    } finally {
      for (const name of ['FILES_URL', 'AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'])
        if (before[name] === undefined) delete process.env[name]
    }
  }

  it('names a bucket in the host, or in the path of another server', async () => {
    const urlOf = async (url: string) => {
      const store = (await open(url, { AWS_REGION: 'x' })) as S3Store
      const signed = new URL(await store.urlOf('key', { type: 'text/plain', disposition: 'inline' }))
      return signed.origin + signed.pathname
    }
    expect(await urlOf('s3://photos/app?region=eu-west-1')).to.equal(
      'https://photos.s3.eu-west-1.amazonaws.com/app/key',
    )
    expect(await urlOf('s3://photos?endpoint=http://minio:9000/')).to.equal('http://minio:9000/photos/key')
  })

  it('is rejected without a region, or if it is malformed', async () => {
    expect(String(await failure(open('s3://photos')))).to.contain(
      'names the bucket photos without its region',
    )
    for (const url of ['s3:', 's3://x?endpoint=ftp://y', 'gs://x', 'storage'])
      expect(String(await failure(open(url)))).to.contain(`FILES_URL is "${url}". Use a folder`)
  })
})
