import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { S3Store } from '../../../src/files/stores/s3.js'
import { captureLog } from '../../../src/testing/index.js'
import { itemsApp, openItems } from '../../support/applications/items.js'
import { describeOnce } from '../../support/engine.js'
import { formWith, png } from '../../support/file-contents.js'
import { bucketKeys, FailingBucket, startS3rver, type BucketState } from '../../support/servers/bucket.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const day = 24 * 60 * 60 * 1000

/** The bucket at a URL. */
function bucketAt(url: string, idle = 30_000): S3Store {
  const bucket = { url, prefix: '', region: 'eu-central-1', credentials: () => bucketKeys }
  return new S3Store(bucket, { connect: 5000, idle })
}

const form = () =>
  formWith({ name: 'Lamp' }, [
    ['photo', 'lämp.png', png()],
    ['manual', 'a.txt', 'How to'],
  ])

describeOnce('Stored files in a bucket', () => {
  it('are read from a URL of the bucket with redirect: true, with the type and the disposition', async () => {
    const s3rver = await startS3rver()
    const store = bucketAt(s3rver.url)
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
    const options = { store: bucketAt('http://127.0.0.1:1/bucket/'), logger: log.logger }
    const site = await Site.open(itemsApp(await openItems(), temporaryFolder(), options).app)
    await site.get('/items/new')
    const { status, headers } = await site.post('/items', { form: form(), accept: 'json' })
    expect([status, headers.get('retry-after')]).to.deep.equal([503, '5'])
    const warned = () =>
      log.lines.some(({ level, msg }) => level === 40 && String(msg).startsWith('The bucket of'))
    while (!warned()) await delay(20)
    await site.close()
  })

  it('are 503 while the bucket refuses, fails, stalls or cuts, and the next request works', async () => {
    const bucket = new FailingBucket()
    const [log, database] = [captureLog(), await openItems()]
    let now = Date.now()
    const store = bucketAt(await bucket.start(), 1000)
    const options = { store, logger: log.logger, now: () => now }
    const { app, files } = itemsApp(database, temporaryFolder(), options)
    const site = await Site.open(app)
    await site.get('/items/new')
    const create = () => site.post('/items', { form: form(), accept: 'json' })
    const { url } = (await create()).json.manual
    const states: BucketState[] = ['refuses', 'fails', 'stalls', 'cuts']
    for (const state of states) {
      bucket.state = state
      for (const { status, headers, text } of [await create(), await site.get(url, { accept: 'json' })]) {
        expect([status, headers.get('retry-after')], state).to.deep.equal([503, '5'])
        expect(text).to.not.match(/AccessDenied|How to|S3RVER/)
      }
      bucket.state = 'works'
      expect((await create()).status).to.equal(201)
      expect((await site.get(url)).text).to.equal('How to')
    }
    // The status has been sent when the bucket cuts the file, so the client's connection is cut, too.
    bucket.state = 'cuts a file'
    const cut = await fetch(site.url + url)
      .then((response) => response.text())
      .catch(() => 'cut')
    expect(cut).to.equal('cut')
    bucket.state = 'works'
    expect((await site.get(url)).text).to.equal('How to')
    now += 1.1 * day
    await files.sweep()
    const { kept, unused } = await files.internal.table.count()
    expect([unused, bucket.objects.size]).to.deep.equal([0, kept])
    expect(bucket.counts.requests).to.be.greaterThan(30)
    expect(bucket.counts.unsigned).to.equal(0)
    expect(log.text()).to.not.match(/S3RVER|How to/)
    await site.close()
    bucket.close()
  })
})
