import { expect } from 'chai'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { authActions } from '../../../src/generator/auth-generator.js'
import { destroy, generate } from '../../../src/generator/files/files.js'
import { migrationActions } from '../../../src/generator/migration-generator.js'
import { modelActions, modelDestruction } from '../../../src/generator/model-generator.js'
import { resourceActions, resourceDestruction } from '../../../src/generator/resource-generator.js'
import { Application } from '../../support/applications/generated.js'
import { newDatabase } from '../../support/databases.js'
import { kit } from '../../support/kit.js'
import { describeOnce, engine } from '../../support/engine.js'

const RESOURCES: [name: string, attributes: string[], options?: ResourceArguments][] = [
  ['item', ['name', 'photo:image', 'documents:files', 'manual:nulls.file'], { locking: true }],
  ['page', ['scan:file', 'pictures:images'], { parent: 'item' }],
  ['file', ['content:file'], { owner: 'user' }],
  ['profile', ['nickname', 'portrait:nulls.image'], { singular: true, owner: 'user' }],
  ['api/attachment', ['paper:file', 'number:int'], { api: true }],
]

describe('Generated resources with files', () => {
  let app: Application

  before(async () => {
    app = Application.web()
    if (engine !== 'sqlite') {
      const [DATABASE_URL, TEST_DATABASE_URL] = [await newDatabase(), await newDatabase()]
      Object.assign(app.environment, { DATABASE_URL, TEST_DATABASE_URL })
    }
    generate(app.folder, authActions(app.folder, 'user', {}))
    for (const [name, attributes, options] of RESOURCES)
      generate(app.folder, resourceActions(app.folder, name, { attributes, spec: 'full', ...options }))
  })
  after(() => app.remove())

  it('are formatted, compile, and pass their specs', async () => {
    expect(await app.unformatted()).to.deep.equal([])
    const compiled = app.compile()
    expect(compiled.status, compiled.output).to.equal(0)
    const { failures, passes } = app.reportSpecs('--grep', '^(Item|Page|File|Profile|Attachment)')
    expect(failures).to.deep.equal([])
    expect(passes).to.be.greaterThan(60)
  })

  it('are counted, swept and checked by kit files', async () => {
    const run = (...args: string[]) =>
      kit(app.folder, args, { env: { ...app.environment, GO_ENV: 'development' } })
    expect((await run('db', 'migrate')).status).to.equal(0)
    const counted = await run('files', '--json')
    expect(counted.errors).to.equal('')
    expect(JSON.parse(counted.output)).to.deep.equal({ kept: 0, unused: 0, bytes: 0 })
    expect((await run('files', 'sweep')).output).to.equal('0 files deleted, 0 bytes.')
    app.write(`storage/ab/cd/${'abcd'.repeat(10)}`, 'left')
    const checked = await run('files', 'check', '--json')
    expect(checked.status).to.equal(1)
    expect(JSON.parse(checked.output)).to.deep.equal({ missing: [], unknown: ['abcd'.repeat(10)] })
  })
})

describeOnce('The generator of files', () => {
  let app: Application
  let before: Record<string, string>

  beforeEach(() => {
    app = Application.web()
    before = app.tree()
  })
  afterEach(() => app.remove())

  it('takes back src/files.ts, its registration and its migration with the last attribute', async () => {
    const item = { attributes: ['photo:image'] }
    generate(app.folder, resourceActions(app.folder, 'item', item))
    const first = app.tree()
    expect(first['src/app.ts']).to.contain('app.extend(files)\napp.resource(ItemsResource)')
    expect(Object.keys(first).filter((path) => path.includes('stored_files'))).to.have.length(1)
    generate(app.folder, modelActions(app.folder, 'page', { attributes: ['scans:files'] }))
    await destroy(app.folder, modelDestruction(app.folder, 'page').actions, {
      confirm: () => Promise.resolve(true),
    })
    expect(app.tree()).to.deep.equal(first)
    await destroy(app.folder, resourceDestruction(app.folder, 'item').actions, {
      confirm: () => Promise.resolve(true),
    })
    expect(app.tree()).to.deep.equal(before)
  })

  it('writes specs that pass for an API without accounts, beside pages', () => {
    const attributes = ['paper:file', 'number:int']
    const attachment = { attributes, spec: 'full' as const, api: true }
    generate(app.folder, resourceActions(app.folder, 'attachment', attachment))
    const compiled = app.compile()
    expect(compiled.status, compiled.output).to.equal(0)
    const { failures, passes } = app.reportSpecs('--grep', '^Attachment')
    expect(failures).to.deep.equal([])
    expect(passes).to.be.greaterThan(8)
  })

  it('sets up the files with a migration that adds them to a table', () => {
    const actions = migrationActions(app.folder, 'add_photo_to_posts', ['photo:nulls.image', 'papers:files'])
    generate(app.folder, actions)
    const names = Object.keys(app.tree()).filter((path) => /^migrations\/\d+_/.test(path))
    const [files = '', photo = ''] = names.toSorted().slice(-2)
    expect([files, photo].map((name) => name.replace(/^migrations\/\d+_/, ''))).to.deep.equal([
      'create_stored_files.ts',
      'add_photo_to_posts.ts',
    ])
    expect(app.read('src/files.ts')).to.contain('storedFiles(database)')
    expect(app.read(photo))
      .to.contain("referencedTableName: 'stored_files'")
      .and.to.contain("name: 'posts_papers'")
  })
})
