import { createHash } from 'node:crypto'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { checkStore } from '../../../src/files/check-store.js'
import { S3Store } from '../../../src/files/stores/s3.js'
import type { StoredFiles } from '../../../src/files/index.js'
import type { Database } from '../../../src/index.js'
import { captureLog } from '../../../src/testing/index.js'
import { createTables, Item, itemsApp, openItems, openItemsAt } from '../../support/applications/items.js'
import { newDatabase } from '../../support/databases.js'
import { formWith, png } from '../../support/file-contents.js'
import { findRecord } from '../../support/records.js'
import { bucketKeys, startS3rver } from '../../support/servers/bucket.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

/** The number of uploads, and whether a process is killed at all points, or at a third of them. */
const total = Number(process.env['KIT_FILES'] ?? 40)
const seed = Number(process.env['KIT_FILES_SEED'] ?? Date.now() % 3)

const day = 24 * 60 * 60 * 1000
const main = fileURLToPath(new URL('../../support/applications/items-main.js', import.meta.url))

/** Checks that each file of each record is readable, byte for byte, and that there are no others after two sweeps, a day apart. */
async function expectNoOrphans(database: Database, files: StoredFiles, sweepAt: (now: number) => void) {
  const now = Date.now()
  for (const days of [0, 1.1, 2.2]) {
    sweepAt(now + days * day)
    await files.sweep()
  }
  const { internal } = files
  expect(await checkStore(internal)).to.deep.equal({ missing: [], unknown: [] })
  expect((await internal.table.count()).unused).to.equal(0)
  const ids = (await database.manager.find(Item)).map(({ id }) => id)
  let count = 0
  for (const id of ids) {
    const item = await findRecord(database.manager, Item, id)
    for (const file of [item.photo, item.manual ?? [], item.documents].flat()) {
      const [row] = await internal.table.find([file.id])
      const content = await buffer(await files.read(file))
      expect(createHash('sha256').update(content).digest('hex')).to.equal(row?.sha256)
      count += 1
    }
  }
  expect((await internal.table.count()).kept).to.equal(count)
  return ids.length
}

describe(`Stored files (KIT_FILES_SEED=${seed} KIT_FILES=${total})`, () => {
  for (const kind of ['folder', 'bucket'])
    it(`in a ${kind} belong to the records of the transactions that were committed, and to nothing else`, async () => {
      const database = await openItems()
      const s3rver = kind === 'bucket' ? await startS3rver() : undefined
      const bucket = s3rver && {
        url: s3rver.url,
        prefix: '',
        region: 'us-east-1',
        credentials: () => bucketKeys,
      }
      let now = Date.now()
      const { app, files } = itemsApp(database, temporaryFolder(), {
        ...(bucket && { store: new S3Store(bucket) }),
        now: () => now,
        logger: captureLog().logger,
      })
      const site = await Site.open(app)
      await site.get('/items/new')
      const send = async (number: number) => {
        const name = ['Lamp', 'throw', ' ', 'Chair'][number % 4] ?? ''
        const form = formWith({ name }, [
          ['photo', 'x.png', png(2, 2, number)],
          ['documents', 'a.txt', `document ${number}`],
        ])
        return site.post('/items', { form, accept: 'json' })
      }
      const statuses: number[] = []
      // Five forms of a client are read at a time.
      for (let first = 0; first < total; first += 5) {
        const numbers = Array.from({ length: 5 }, (_, index) => first + index)
        statuses.push(...(await Promise.all(numbers.map(send))).map(({ status }) => status))
      }
      expect(new Set(statuses)).to.deep.equal(new Set([201, 500, 422]))
      const created = statuses.filter((status) => status === 201).length
      expect(await expectNoOrphans(database, files, (time) => (now = time))).to.equal(created)
      await site.close()
      await s3rver?.close()
    })

  it('are attached or rejected at the moment when they expire, and used ones are never deleted', async () => {
    const database = await openItems()
    let now = Date.now()
    const { app, files } = itemsApp(database, temporaryFolder(), { now: () => now })
    const site = await Site.open(app)
    await site.get('/items/new')
    const headers = { 'x-csrf-token': site.token ?? '', origin: site.url }
    for (let round = 0; round < total / 10; round++) {
      const tokens: string[] = []
      for (let number = 0; number < 5; number++) {
        const form = formWith({}, [['file', 'x.png', png(2, 2, number)]])
        tokens.push((await site.post('/uploads', { form, accept: 'json' })).json.token)
      }
      now += day - 5
      const [responses] = await Promise.all([
        Promise.all(
          tokens.map((photo) => {
            now += 2
            return site.post('/items', { json: { name: 'Lamp', photo }, accept: 'json', headers })
          }),
        ),
        files.sweep(),
        files.sweep(),
      ])
      for (const { status, json } of responses) {
        expect(status).to.be.oneOf([201, 422])
        if (status === 422) expect(json.codes).to.deep.equal({ photo: ['file_unknown'] })
        else expect((await site.get(json.photo.url)).status).to.equal(200)
      }
    }
    const { kept } = await files.internal.table.count()
    now += 3650 * day
    await files.sweep()
    now += day
    await files.sweep()
    expect((await files.internal.table.count()).kept).to.equal(kept)
    await site.close()
  })

  for (const kind of ['folder', 'bucket'] as const)
    describe(`in a ${kind} after SIGKILL`, () => {
      const surrounded = ['row', 'bytes', 'keep', 'commit', 'detach', 'remove', 'delete']
      const points = [...surrounded.flatMap((name) => [`before ${name}`, `after ${name}`]), 'within bytes']
      const offset = kind === 'folder' ? 0 : 3
      const chosen = total >= 400 ? points : points.filter((_, index) => index % 6 === (seed % 3) + offset)
      let url: string
      let folder: string
      /** The variables that name the store. */
      let store: NodeJS.ProcessEnv
      let close = (): Promise<void> => Promise.resolve()

      before(async () => {
        url = await newDatabase()
        await createTables(url)
        folder = temporaryFolder()
        store = { TEST_FILES_URL: `file:${folder}/storage` }
        if (kind === 'bucket') ({ environment: store, close } = await startS3rver())
      })
      after(() => close())

      /** Starts the application, which kills itself at a point. */
      async function start(point: string, sweepAt = 0): Promise<{ child: ChildProcess; address: string }> {
        const child = fork(main, {
          env: {
            ...process.env,
            ...store,
            GO_ENV: 'test',
            LOG_LEVEL: 'silent',
            ITEMS_URL: url,
            ITEMS_FOLDER: folder,
            KILL_AT: point,
            SWEEP_AT: String(sweepAt),
          },
        })
        const [address] = (await once(child, 'message')) as [string]
        return { child, address }
      }

      for (const point of chosen)
        it(`${point}, nothing is lost and nothing is left over`, async () => {
          const isSweep = /detach|remove|delete/.test(point)
          const { child, address } = await start(isSweep ? '' : point)
          const ended = once(child, 'exit')
          const token = await tokenOf(address)
          const form = formWith({ name: 'Lamp', authenticity_token: token.value }, [
            ['photo', 'x.png', png(2, 2, Math.random() * 1e9)],
            ['documents', 'a.txt', 'a'],
          ])
          const headers = { cookie: token.cookie, origin: address, accept: 'application/json' }
          const response = await fetch(`${address}/items`, { method: 'POST', body: form, headers }).catch(
            () => undefined,
          )
          if (isSweep) {
            expect(response?.status).to.equal(201)
            const json = (await response?.json()) as { id: string }
            const body = new URLSearchParams({
              _method: 'PUT',
              documents: '',
              authenticity_token: token.value,
            })
            await fetch(`${address}/items/${json.id}`, { method: 'POST', body, headers })
            child.kill('SIGKILL')
            const sweeping = await start(point, Date.now() + 1.1 * day)
            await once(sweeping.child, 'exit')
            expect(sweeping.child.signalCode).to.equal('SIGKILL')
          }
          await ended
          expect(child.signalCode).to.equal('SIGKILL')
          const database = await openItemsAt(url)
          Object.assign(process.env, store)
          try {
            let now = Date.now()
            const { files } = itemsApp(database, folder, { now: () => now })
            await expectNoOrphans(database, files, (time) => (now = time))
          } finally {
            for (const name of Object.keys(store)) delete process.env[name]
            await database.close()
          }
        })
    })
})

/** The CSRF token of a new visitor, and the cookie. */
async function tokenOf(address: string): Promise<{ value: string; cookie: string }> {
  const page = await fetch(`${address}/items/new`)
  const [, value = ''] = /name="authenticity_token" value="([^"]+)"/.exec(await page.text()) ?? []
  return {
    value,
    cookie: page.headers
      .getSetCookie()
      .map((one) => one.split(';', 1)[0])
      .join('; '),
  }
}
