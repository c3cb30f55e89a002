import { createRequire } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { S3Store } from '../../../src/files/stores/s3.js'
import { captureLog } from '../../../src/testing/index.js'
import { itemsApp, openItems } from '../../support/applications/items.js'
import { describeOnce } from '../../support/engine.js'
import { formWith, png } from '../../support/file-contents.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

/** The part of s3rver that the specs use. It has no types. */
interface S3rver {
  run(): Promise<{ port: number }>
  close(): Promise<void>
}
const Rver: new (options: object) => S3rver = createRequire(import.meta.url)('s3rver')

/** A bucket of a server on this port. */
function bucketAt(port: number): S3Store {
  const credentials = () => ({ accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' })
  return new S3Store({
    url: `http://127.0.0.1:${port}/bucket/`,
    prefix: '',
    region: 'us-east-1',
    credentials,
  })
}

const form = () =>
  formWith({ name: 'Lamp' }, [
    ['photo', 'lämp.png', png()],
    ['manual', 'a.txt', 'How to'],
  ])

describeOnce('Stored files in a bucket', () => {
  it('are read from a URL of the bucket with redirect: true, with the type and the disposition', async () => {
    const options = { port: 0, address: '127.0.0.1', silent: true, directory: temporaryFolder() }
    const s3rver = new Rver({ ...options, configureBuckets: [{ name: 'bucket', configs: [] }] })
    const store = bucketAt((await s3rver.run()).port)
    const { app } = itemsApp(await openItems(), temporaryFolder(), { store, redirect: true })
    const site = await Site.open(app)
    await site.get('/items/new')
    const { json } = await site.post('/items', { form: form(), accept: 'json' })
    const response = await site.get(json.manual.url)
    expect([response.status, response.headers.get('cache-control')]).to.deep.equal([302, 'no-store'])
    const location = new URL(response.headers.get('location') ?? '')
    expect(location.searchParams.get('X-Amz-Expires')).to.equal('60')
    const file = await fetch(location)
    expect([file.status, await file.text()]).to.deep.equal([200, 'How to'])
    expect(file.headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    expect(file.headers.get('content-disposition')).to.contain('filename="a.txt"')
    // The URL is signed for GET alone.
    const head = await site.request('HEAD', json.manual.url)
    expect([head.status, head.headers.get('content-length')]).to.deep.equal([200, '6'])
    await site.close()
    await s3rver.close()
  })

  it('are 503 while the bucket is away, which is a warning at the start', async () => {
    const log = captureLog()
    const options = { store: bucketAt(1), logger: log.logger }
    const site = await Site.open(itemsApp(await openItems(), temporaryFolder(), options).app)
    await site.get('/items/new')
    const { status, headers } = await site.post('/items', { form: form(), accept: 'json' })
    expect([status, headers.get('retry-after')]).to.deep.equal([503, '5'])
    const warned = () =>
      log.lines.some(({ level, msg }) => level === 40 && String(msg).startsWith('The bucket of'))
    while (!warned()) await delay(20)
    await site.close()
  })
})
