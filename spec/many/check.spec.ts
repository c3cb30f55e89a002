import { expect } from 'chai'
import {
  App,
  BaseResource,
  Database,
  Model,
  Resource,
  Route,
  transaction,
  type Context,
} from '../../src/index.js'
import { Column, Entity, JoinColumn, ManyToMany, JoinTable, ManyToOne, type Relation } from 'typeorm'
import { Exclude } from 'class-transformer'
import { describeOnce } from '../support/engine.js'
import { failure } from '../support/failure.js'
import { newDatabase } from '../support/databases.js'

@Entity('makers')
class Maker extends Model {
  @Column('varchar') town!: string
  @Column('varchar', { unique: true }) code!: string
  @Column('varchar') @Exclude() token!: string
}

@Entity('tools')
class Tool extends Model {
  @Column('varchar', { unique: true }) sku!: string
  @Column('varchar') name!: string
  @Column('varchar', { select: false }) secret!: string
  @Column('blob', { nullable: true }) photo?: Buffer
  @Column('uuid', { nullable: true }) maker_id?: string | null
  @ManyToOne(() => Maker)
  @JoinColumn({ name: 'maker_id' })
  maker?: Relation<Maker> | null
  @ManyToMany(() => Maker)
  @JoinTable()
  makers?: Relation<Maker>[]
}

/** Options that the types reject. */
type Wrong = Record<string, unknown>

class Handlers extends BaseResource {
  override list(ctx: Context) {
    ctx.body = []
  }
  override create(ctx: Context) {
    ctx.body = []
  }
  override update(ctx: Context) {
    ctx.body = []
  }
}

/** Returns the error of the start, or of the declaration, of a resource with options. */
async function problemOf(
  options: Wrong,
  change: (target: typeof Handlers) => void = () => {},
): Promise<string> {
  class ToolsResource extends Handlers {
    @Route('POST', '/{tool_id}/archive')
    archive(ctx: Context) {
      ctx.body = []
    }
    @Route('GET', '/{tool_id}/label')
    label(ctx: Context) {
      ctx.body = []
    }
    @Route('POST', '/sort')
    sort(ctx: Context) {
      ctx.body = []
    }
  }
  change(ToolsResource)
  Resource('/tools', { model: Tool, fields: ['sku', 'name', 'maker_id'], ...options } as object)(
    ToolsResource,
  )
  const database = new Database(
    { test: { url: await newDatabase() }, models: [Tool, Maker], migrations: [] },
    'test',
  )
  const app = new App({ env: 'test' })
  app.use(transaction(database))
  const error = await failure(
    (async () => {
      app.resource(ToolsResource)
      await app.start()
    })(),
  )
  await app.close()
  return error instanceof Error ? error.message : String(error)
}

describeOnce('The options csv, import and bulk of @Resource', () => {
  const rows: [string, Wrong, string][] = [
    [
      'csv without a model',
      { model: undefined, fields: undefined, csv: ['id'] },
      'has the option csv, but no model.',
    ],
    [
      'an empty csv',
      { csv: [] },
      'has an empty list as the option csv. Name its columns, or remove the option.',
    ],
    [
      'an unknown column',
      { csv: ['nmae'] },
      'has "nmae" in the option csv, which is not a column of Tool. Did you mean "name"?',
    ],
    ['a column twice', { csv: ['sku', 'sku'] }, 'has "sku" twice in the option csv. Remove one of them.'],
    [
      'a column that is not selected',
      { csv: ['secret'] },
      'has "secret" in the option csv, which is hidden in the JSON of Tool',
    ],
    ['a hidden column of a reference', { csv: ['maker.token'] }, 'which is hidden in the JSON of Maker'],
    ['a column without text', { csv: ['photo'] }, 'which has the type blob, which has no text.'],
    [
      'a relation',
      { csv: ['maker'] },
      'which is a relation. Name its key "maker_id", or an attribute: "maker.id".',
    ],
    ['a list', { csv: ['makers.code'] }, 'which leads to many records.'],
    ['an unknown attribute', { csv: ['maker.x'] }, 'which names "x", which is not a column of Maker.'],
    [
      'an imported reference without an index',
      { csv: ['maker.town'], import: true },
      'imports "maker.town" of the option csv, which has no unique index',
    ],
    ['import without fields', { import: true, fields: undefined }, 'has the option import, but no fields.'],
    [
      'a key without an index',
      { import: { key: 'name' } },
      'has the key "name" in the option import, which has no unique index',
    ],
    [
      'a key that is not a field',
      { import: { key: 'created_at' } },
      'has the key "created_at" in the option import, which is not one of its fields.',
    ],
    [
      'no lines',
      { import: { maxLines: 0 } },
      'has maxLines: 0 in the option import. Use a whole number from 1.',
    ],
    ['an empty bulk', { bulk: [] }, 'has an empty list as the option bulk.'],
    [
      'an unknown action',
      { bulk: ['archvie'] },
      'has "archvie" in the option bulk, which is not a handler with a route. Did you mean "archive"?',
    ],
    [
      'a list as an action',
      { bulk: ['list'] },
      'has "list" in the option bulk, which does not change an item.',
    ],
    [
      'a GET as an action',
      { bulk: ['label'] },
      'has "label" in the option bulk, which does not change an item.',
    ],
    [
      'an action of the collection',
      { bulk: ['sort'] },
      'has "sort" in the option bulk, which does not change an item.',
    ],
    [
      'an action that is not written',
      { bulk: ['destroy'] },
      'has the option bulk, but no handler destroy. Write it',
    ],
  ]
  for (const [title, options, message] of rows)
    it(`rejects ${title} at the start`, async () => {
      expect(await problemOf(options)).to.contain(
        `ToolsResource ${message.startsWith('which') ? 'has' : message.split(' ')[0]}`,
      )
      expect(await problemOf(options)).to.contain(message)
    })

  it('rejects import without create, and with a key without update', async () => {
    const without = (name: 'create' | 'update') => (target: typeof Handlers) =>
      void (target.prototype[name] = BaseResource.prototype[name])
    expect(await problemOf({ import: true }, without('create'))).to.equal(
      'ToolsResource has the option import, but no handler create. Write it, or remove the option.',
    )
  })

  it('rejects a singular resource, and a @Route at one of the paths', async () => {
    @Resource('/tool', { model: Tool, singular: true, bulk: ['update'] })
    class ToolResource extends BaseResource {
      override list = undefined as never
    }
    expect(ToolResource).to.be.a('function')
    const twice = (target: typeof Handlers) => {
      const descriptor = { value: (ctx: Context) => void (ctx.body = []) }
      Object.defineProperty(target.prototype, 'load', descriptor)
      Route('POST', '/import')(target.prototype, 'load', descriptor)
    }
    expect(await problemOf({ import: true }, twice)).to.equal(
      'ToolsResource.load and ToolsResource.create both handle POST /tools/import. Change the method or the path of @Route.',
    )
  })

  it('are typed as far as types reach', () => {
    const declare = (): void => {
      Resource('/tools', {
        model: Tool,
        csv: ['sku', 'maker.code'],
        import: { key: 'sku' },
        bulk: ['update'],
      })(Handlers)
      // @ts-expect-error an unknown column
      Resource('/tools', { model: Tool, csv: ['skuu'] })
      // @ts-expect-error an unknown attribute of a reference
      Resource('/tools', { model: Tool, csv: ['maker.codee'] })
      // @ts-expect-error an unknown key
      Resource('/tools', { model: Tool, import: { key: 'skuu' } })
      // @ts-expect-error an action that the class lacks
      Resource('/tools', { model: Tool, bulk: ['publish'] })(Handlers)
    }
    expect(declare).to.be.a('function')
  })
})
