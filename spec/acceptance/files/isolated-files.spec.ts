import { expect } from 'chai'
import { join } from 'node:path'
import { Database } from '../../../src/index.js'
import type { FileStore } from '../../../src/files/index.js'
import { testApplication } from '../../../src/testing/index.js'
import { createItemTables, Item, itemsApp } from '../../support/applications/items.js'
import { describeOnce } from '../../support/engine.js'
import { formWith, png } from '../../support/file-contents.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const folder = temporaryFolder()
// It is opened later, because the hooks of isolate() are declared with the tests.
const database = new Database(
  { test: { url: `sqlite:${join(folder, 'items.sqlite')}`, logging: false }, models: [Item] },
  'test',
)
const { app, files } = itemsApp(database, folder)
const { client, isolate } = testApplication(app, database)

async function keysIn(store: FileStore): Promise<string[]> {
  const keys: string[] = []
  for await (const key of store.list()) keys.push(key)
  return keys.toSorted()
}

describeOnce('The stored files of isolated tests', () => {
  let earlier: readonly string[]

  before(async () => {
    await database.open()
    const runner = database.createQueryRunner()
    await createItemTables(runner)
    await runner.release()
    await client.open()
    earlier = await keysIn(files.internal.byteStore)
  })
  after(async () => {
    await client.close()
    await database.close()
  })

  describe('in a describe with isolate()', () => {
    let kept: readonly string[]
    isolate()

    before(async () => {
      await files.store(Buffer.from('of all tests'), { filename: 'a.txt' })
      kept = await keysIn(files.internal.byteStore)
      expect(kept).to.have.length(earlier.length + 1)
    })

    for (const number of [1, 2])
      it(`are deleted with their rows after test ${number}, and those of a before hook stay`, async () => {
        expect(await keysIn(files.internal.byteStore)).to.deep.equal(kept)
        await client.get('/items/new')
        const form = formWith({ name: 'Lamp' }, [['photo', 'x.png', png()]])
        expect((await client.post('/items', { form, accept: 'json' })).status).to.equal(201)
        expect(await keysIn(files.internal.byteStore)).to.have.length(kept.length + 1)
      })
  })

  describe('after it', () => {
    it('are all deleted', async () => {
      expect(await keysIn(files.internal.byteStore)).to.deep.equal(earlier)
    })
  })
})
