import { expect } from 'chai'
import { Column, Entity } from 'typeorm'
import { App, BaseResource, Database, Model, Resource, transaction } from '../../src/index.js'
import { HasFile, HasFiles, storedFiles, type FilesOptions, type StoredFile } from '../../src/files/index.js'
import { itemsApp, ItemsResource, openItems } from '../support/applications/items.js'
import { newDatabase } from '../support/databases.js'
import { describeOnce } from '../support/engine.js'
import { temporaryFolder } from '../support/temporary-folder.js'

/** The message of the error that starting an application ends with. */
async function startError(app: App): Promise<string> {
  try {
    await app.start()
    return 'no error'
  } catch (error) {
    return String(Reflect.get(Object(error), 'message'))
  } finally {
    await app.close().catch(() => undefined)
  }
}

describeOnce('@HasFile and @HasFiles', () => {
  const wrong: [options: object, message: RegExp][] = [
    [{ maxSize: '10 MB' }, /^The `maxSize` of @HasFiles of Wrong\.papers is "10 MB"\. Use a number of bytes/],
    [{ maxSize: 0 }, /maxSize/],
    [{ maxSize: '6 GiB' }, /up to 5 GiB/],
    [{ maxCount: 51 }, /^The `maxCount` of @HasFiles of Wrong\.papers is 51/],
    [{ maxCount: 0.5 }, /whole number from 1 to 50/],
    [{ maxPixels: 0 }, /maxPixels/],
    [{ types: ['png'] }, /has the type "png"\. Use a media type like "image\/png"/],
    [{ types: ['image/*'] }, /has the type "image\/\*"/],
    [{ variants: { 'a b': { width: 1, height: 1 } } }, /has the variant "a b"/],
    [{ variants: { thumb: { width: 0, height: 1 } } }, /^The `width` of the variant "thumb"/],
  ]
  for (const [options, message] of wrong)
    it(`reject ${JSON.stringify(options)}`, () => {
      expect(() => {
        class Wrong {
          @HasFiles(options as FilesOptions)
          papers!: StoredFile[]
        }
        return Wrong
      }).to.throw(message)
    })
})

describeOnce('storedFiles(database)', () => {
  let database: Database
  beforeEach(async () => {
    database = await openItems()
  })
  afterEach(() => database.close())

  it('must be above the resources whose fields have files', async () => {
    const app = new App()
    app.use(transaction(database))
    app.resource(ItemsResource)
    app.extend(storedFiles(database))
    expect(await startError(app)).to.match(
      /^ItemsResource has the field "photo", whose files nothing stores\. Declare the resource below app\.extend\(files\)/,
    )
  })

  it('must be above idempotency(), whose key begins the transaction', async () => {
    const app = new App()
    const keys = Object.assign((_ctx: unknown, next: () => unknown) => next(), {
      extension: { recognizesKeys: true },
    })
    Object.defineProperty(keys, 'name', { value: 'idempotency' })
    app.use(transaction(database), keys)
    app.extend(storedFiles(database))
    app.resource(ItemsResource)
    expect(await startError(app)).to.match(/^idempotency\(\) of \w+ \/items is above app\.extend\(files\)/)
  })

  it('names the migration if the table is missing', async () => {
    const empty = new Database({ test: { url: await newDatabase(), logging: false }, models: [] }, 'test')
    const app = new App()
    app.use(transaction(empty))
    app.extend(storedFiles(empty))
    const error = await startError(app)
    expect(error).to.match(
      /^The database has no table "stored_files".*storedFilesTable\(runner, 'stored_files'\)/,
    )
    // The table of sessions may be created again, and that of files may not.
    expect(error).to.not.contain('dropTable')
  })

  it('rejects a store in FILES_URL that it does not know, and one that is not writable', async () => {
    for (const [url, message] of [
      ['ftp://x', /^TEST_FILES_URL is "ftp:\/\/x"\. Use a folder/],
      ['file:///dev/null/none', /^Files cannot be stored in \/dev\/null\/none \(ENOTDIR\)\./],
    ] as const) {
      process.env['TEST_FILES_URL'] = url
      try {
        expect(await startError(itemsApp(database, temporaryFolder()).app)).to.match(message)
      } finally {
        delete process.env['TEST_FILES_URL']
      }
    }
  })

  it('rejects a model that has the column of a file, and one named StoredFile', async () => {
    @Entity('papers')
    class Paper extends Model {
      @Column('uuid', { nullable: true })
      scan_id!: string | null

      @HasFile()
      scan!: StoredFile | null
    }
    @Entity('stored')
    class StoredFile2 extends Model {}
    Object.defineProperty(StoredFile2, 'name', { value: 'StoredFile' })
    for (const [model, message] of [
      [Paper, /^Paper\.scan_id is the column of scan, which @HasFile declares/],
      [StoredFile2, /^A model has the name StoredFile/],
    ] as const) {
      const url = await newDatabase()
      const own = new Database({ test: { url, logging: false }, models: [model] }, 'test')
      const app = new App()
      app.use(transaction(own))
      app.extend(storedFiles(own))
      expect(await startError(app)).to.match(message)
    }
  })

  it('needs no files in an application whose resources have none', async () => {
    @Resource('/plain')
    class PlainResource extends BaseResource {}
    const app = new App()
    app.use(transaction(database))
    app.resource(PlainResource)
    expect(await startError(app)).to.equal('no error')
  })
})
