import { readdirSync, rmSync } from 'node:fs'
import { expect } from 'chai'
import { authActions } from '../../../src/generator/auth-generator.js'
import { destroy, generate } from '../../../src/generator/files/files.js'
import { modelActions, modelDestruction } from '../../../src/generator/model-generator.js'
import { leftFiles, resourceActions, resourceDestruction } from '../../../src/generator/resource-generator.js'
import { Application, INDEPENDENT_OF_ENGINE } from '../../support/applications/generated.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { teamActions } from '../../../src/generator/team-generator.js'

const LINES = 'line item:references quantity:int note:nulls.string'

/** The resources of the application, in the order in which they are generated. */
const RESOURCES: readonly [word: string, options: ResourceArguments][] = [
  ['item', { attributes: ['name', 'price:decimal'] }],
  ['order', { attributes: ['number:string:unique'], nested: [LINES], trash: true, locking: true }],
  [
    'invoice',
    {
      attributes: ['title'],
      nested: ['entry text:text day:date', 'reminder sent_at:datetime fee:decimal:12,4:unique'],
      import: 'id',
      csv: true,
      bulk: 'update,destroy',
      owner: 'user',
    },
  ],
  ['recipe', { nested: ['step text done:bool state:enum:open,closed', 'tag item:references:unique'] }],
  ['profile', { attributes: ['name'], nested: ['link url token:string'], singular: true, owner: 'user' }],
  ['api/v1/part', { nested: ['offer item:nulls.references user:references price:float'], api: true }],
  ['tool', { attributes: ['name'], owner: 'branch' }],
  ['rental', { attributes: ['code'], nested: ['part tool:references days:int'], owner: 'branch' }],
  [
    'visit',
    { attributes: ['code'], nested: ['row tool:references days:int'], parent: 'rental', owner: 'branch' },
  ],
  [
    'chapter',
    { attributes: ['title'], nested: ['page body:json', 'remark text:nulls.text'], parent: 'recipe' },
  ],
]

describe('An application of resources with lines', function () {
  // It waits for programs, which end.
  this.timeout(0)
  let app: Application
  let empty: Record<string, string>

  before(async () => {
    app = Application.web()
    if (engine !== 'sqlite') {
      const [DATABASE_URL, TEST_DATABASE_URL] = [await newDatabase(), await newDatabase()]
      Object.assign(app.environment, { DATABASE_URL, TEST_DATABASE_URL })
    }
    generate(app.folder, authActions(app.folder, 'user'))
    generate(app.folder, teamActions(app.folder, 'branch', {}))
    empty = app.tree()
    for (const [word, options] of RESOURCES)
      generate(app.folder, resourceActions(app.folder, word, { ...options, spec: 'full' }))
    generate(app.folder, modelActions(app.folder, 'parcel', { nested: ['label text'], spec: 'full' }))
  })
  after(() => app.remove())

  it('is formatted', async () => {
    expect(await app.unformatted()).to.deep.equal([])
  })

  it('compiles under strict', () => {
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
  })

  it('has complete specs that pass', () => {
    const { passes, failures } = app.reportSpecs(
      ...(engine === 'sqlite' ? [] : ['--grep', INDEPENDENT_OF_ENGINE, '--invert']),
    )
    expect(failures).to.deep.equal([])
    expect(passes).to.be.above(RESOURCES.length * 10)
  })

  it('has one migration for a record and its lines', () => {
    const [file = ''] = readdirSync(app.path('migrations')).filter((name) =>
      name.endsWith('_create_orders.ts'),
    )
    const migration = app.read(`migrations/${file}`)
    expect(migration.indexOf("name: 'orders'")).to.be.below(migration.indexOf("name: 'order_lines'"))
    expect(migration.match(/dropTable\('\w+'\)/g)).to.deep.equal([
      "dropTable('order_lines')",
      "dropTable('orders')",
    ])
  })

  it('is as before after kit destroy, which finds nothing edited', async () => {
    const undo = async ({ actions, remark }: ReturnType<typeof modelDestruction>) => {
      for (const { path } of actions) expect(`${path}: ${await remark(path)}`).to.equal(`${path}: undefined`)
      await destroy(app.folder, actions, { confirm: () => Promise.resolve(true) })
    }
    await undo(modelDestruction(app.folder, 'parcel'))
    for (const [word] of RESOURCES.toReversed()) await undo(resourceDestruction(app.folder, word))
    rmSync(app.path('node_modules'), { force: true })
    expect(app.tree()).to.deep.equal(empty)
  })
})

describe('kit generate resource --nested', () => {
  let app: Application

  before(() => {
    app = Application.web()
    generate(app.folder, resourceActions(app.folder, 'item', { attributes: ['name'] }))
    generate(app.folder, modelActions(app.folder, 'order_note', { attributes: ['text'] }))
  })
  after(() => app.remove())

  const nest = (nested: string[], options: ResourceArguments = {}) =>
    resourceActions(app.folder, 'order', { nested, ...options })

  for (const [what, nested, message] of [
    [
      'no attributes',
      ['line'],
      '--nested "line" isn\'t a valid list: it needs an attribute that a form can set, as in "line quantity:int".',
    ],
    ['no attribute that a form can set', ['line password_digest'], 'it needs an attribute'],
    [
      'a many-to-many relation',
      ['line items:many'],
      '"item_ids" is a many-to-many relation, which a line does not have.',
    ],
    ['a file', ['line photo:image'], '"photo" is a file. Add it to the model by hand.'],
    [
      'a reference to the record',
      ['line order:references'],
      'each line has "order_id" already, which is set when its record is saved.',
    ],
    [
      'another reference to the record',
      ['line other:references:order'],
      '"other" refers to Order, and a line is a part of it.',
    ],
    [
      'a reference to a line',
      ['line other:nulls.references:order_line'],
      '"other" refers to OrderLine, and a line is a part of it.',
    ],
    ['a position', ['line position:int'], 'each line has "position" already'],
    [
      'a name that every record has',
      ['created_at text'],
      'it cannot be named "created_at", because every record has it already',
    ],
    ['a reserved name', ['new text'], 'it cannot be named "new"'],
    ['the name of an attribute', ['number text'], 'repeats the attribute "number"'],
    ['a name twice', ['line text', 'lines text'], '"lines" is used twice. Use another name.'],
    [
      'the name of a model',
      ['note text'],
      'its model would be OrderNote, which src/models/order_note.ts contains already. Use another name.',
    ],
    ['an unknown model', ['line product:references'], 'There is no model Product'],
    ['an unknown type', ['line quantity:number'], 'Unknown attribute type "number"'],
    ['no name', [''], '"" isn\'t a valid attribute'],
  ] as const)
    it(`rejects ${what}`, () => {
      const before = app.tree()
      expect(() => nest([...nested], { attributes: ['number'] })).to.throw(message)
      expect(app.tree()).to.deep.equal(before)
    })

  it('rejects models that other commands generate', () => {
    expect(() => nest(['line text'], { useModel: 'item' })).to.throw('--nested adds a list to the model.')
    expect(() => nest(['line text'], { skipModel: true })).to.throw('--nested adds a list to the model.')
  })

  it('writes a list again with --force, and names the files of the one that it replaces', () => {
    generate(app.folder, nest(['line text', 'fee amount:int']))
    expect(() => generate(app.folder, nest(['line text']))).to.throw('these files already exist')
    const changed = nest(['line text', 'cost amount:int'])
    generate(app.folder, changed, { force: true, dryRun: true })
    expect(app.tree()).not.to.have.property('src/models/order_cost.ts')
    const left = leftFiles(app.folder, 'order', { nested: ['line text', 'cost amount:int'] })
    expect(left).to.deep.equal([
      'spec/models/order_fee.spec.ts',
      'src/models/order_fee.ts',
      'templates/orders/_fees.pug',
    ])
    generate(app.folder, changed, { force: true })
    expect(app.read('src/models/order.ts')).to.include('costs!: OrderCost[]')
  })

  it('leaves out the templates, the texts and the migration as for other resources', () => {
    const paths = nest(['line text'], { skipTemplates: true, skipMigration: true }).map(({ path }) => path)
    expect(paths).to.include('src/models/order_line.ts')
    expect(paths.filter((path) => /^(templates|migrations)\//.test(path))).to.deep.equal([])
  })
})
