import { expect } from 'chai'
import { Max, Min } from 'class-validator'
import {
  Column,
  DeleteDateColumn,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  OneToMany,
  VersionColumn,
  type Relation,
} from 'typeorm'
import {
  App,
  BaseResource,
  Database,
  Model,
  Nested,
  nothing,
  Policy,
  Present,
  Resource,
  transaction,
  type Context,
  Within,
  type ValidationErrors,
} from '../../../src/index.js'
import { buildDocument, documentsOf } from '../../../src/openapi/document.js'
import { countQueries } from '../../support/count-queries.js'
import { databaseWithTables } from '../../support/databases.js'
import { failure } from '../../support/failure.js'
import { Random } from '../../support/random.js'
import { Site, type SpecRequest, type SpecResponse } from '../../support/site.js'

@Entity('nested_items')
class Item extends Model {
  @Column('varchar') name!: string
  @Column('varchar') user_id!: string
}

@Entity('nested_orders')
class Order extends Model {
  @Column('varchar', { unique: true }) @Present() number!: string
  @Column('int', { default: 0 }) total = 0

  @OneToMany(() => OrderLine, (line) => line.order)
  @Nested<OrderLine>({ fields: ['item_id', 'quantity', 'note', 'serial'], min: 1, max: 8 })
  lines!: OrderLine[]

  override validateCreate(errors: ValidationErrors): void {
    this.validateUpdate(errors)
  }

  override validateUpdate(errors: ValidationErrors): void {
    this.total = this.lines.reduce((sum, { quantity }) => sum + quantity, 0)
    if (this.lines.some(({ note }) => note === 'cursed'))
      errors.add('lines', 'cursed', 'These lines are cursed.')
    const index = this.lines.findIndex(({ note }) => note === 'unlucky')
    if (index >= 0) errors.add(`lines.${index}.quantity`, 'unlucky', 'Quantity brings bad luck.')
  }
}

@Entity('nested_order_lines')
@Index(['order_id', 'position'], { unique: true })
class OrderLine extends Model {
  @Column('uuid') order_id!: string
  @Column('int') position!: number
  @Column('uuid', { nullable: true }) item_id!: string | null
  @Column('int') @Min(1) @Max(1000) quantity!: number
  @Column('varchar', { nullable: true }) note!: string | null
  @Column('varchar', { nullable: true, unique: true }) serial!: string | null

  @ManyToOne(() => Order, (order) => order.lines, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'order_id' })
  order?: Relation<Order>

  @ManyToOne(() => Item)
  @JoinColumn({ name: 'item_id' })
  item?: Relation<Item> | null

  override validateCreate(errors: ValidationErrors): void {
    if (this.note === 'forbidden') errors.add('note', 'forbidden', 'Note is forbidden.')
  }
}

@Entity('nested_invoices')
class Invoice extends Model {
  @Column('varchar') number!: string
  @VersionColumn() lock_version!: number
  @DeleteDateColumn() deleted_at!: Date | null

  @OneToMany(() => InvoiceLine, (line) => line.invoice)
  @Nested<InvoiceLine>({ fields: ['text'] })
  lines!: InvoiceLine[]
}

@Entity('nested_invoice_lines')
class InvoiceLine extends Model {
  @Column('uuid') invoice_id!: string
  @Column('int') position!: number
  @Column('varchar') @Present() text!: string

  @ManyToOne(() => Invoice, (invoice) => invoice.lines, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'invoice_id' })
  invoice?: Relation<Invoice>

  override validateUpdate(errors: ValidationErrors): void {
    if (this.text === 'paid') errors.add('text', 'paid', 'This line is paid.')
  }
}

@Entity('nested_shops')
class Shop extends Model {
  @Column('varchar') name!: string
}

@Entity('nested_goods')
@Within('shop')
class Good extends Model {
  @Column('uuid') shop_id!: string
  @ManyToOne(() => Shop)
  @JoinColumn({ name: 'shop_id' })
  shop?: Relation<Shop>
}

@Entity('nested_baskets')
@Within('shop')
class Basket extends Model {
  @Column('uuid') shop_id!: string
  @ManyToOne(() => Shop)
  @JoinColumn({ name: 'shop_id' })
  shop?: Relation<Shop>

  @OneToMany(() => BasketLine, (line) => line.basket)
  @Nested<BasketLine>({ fields: ['good_id'] })
  lines!: BasketLine[]
}

@Entity('nested_basket_lines')
class BasketLine extends Model {
  @Column('uuid') basket_id!: string
  @Column('int') position!: number
  @Column('uuid') good_id!: string
  @ManyToOne(() => Basket, (basket) => basket.lines, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'basket_id' })
  basket?: Relation<Basket>
  @ManyToOne(() => Good)
  @JoinColumn({ name: 'good_id' })
  good?: Relation<Good>
}

class ItemPolicy extends Policy<Item> {
  scope(user?: { id: string }) {
    return user ? { user_id: user.id } : nothing
  }
}

@Resource('/items', { model: Item, policy: ItemPolicy })
class ItemsResource extends BaseResource {}

@Resource('/orders', { model: Order, fields: ['number', 'lines'] })
class OrdersResource extends BaseResource {
  override async create(ctx: Context) {
    return ctx.respond(201, { data: ctx.bind(new Order()) })
  }
  override async update(ctx: Context) {
    return ctx.respond({ data: await ctx.find(Order, ctx.params['order_id']) })
  }
}
const documented = new App({ api: true }).resource(OrdersResource)

const models = [Item, Order, OrderLine, Invoice, InvoiceLine, Shop, Good, Basket, BasketLine]
const total = Number(process.env['KIT_NESTED'] ?? 50)
const seed = Number(process.env['KIT_NESTED_SEED'] ?? Date.now() % 2 ** 31)
const unknown = '0193b6a2-7c3e-7000-8000-00000000000a'

/** Handlers that find, bind, save and show the records of a model. */
function addRoutes(
  app: App,
  path: string,
  model: typeof Order | typeof Invoice | typeof Basket,
  fields: string[],
): void {
  const respond = async (ctx: Context, record: Order | Invoice | Basket, status: number) => {
    const errors = await ctx.save(ctx.bind(record, fields as never))
    return errors ? ctx.respond(errors) : ctx.respond(status, { data: record })
  }
  const find = (ctx: Context) =>
    ctx.find<Order | Invoice | Basket>(model, String(Reflect.get(ctx.params, 'id')))
  app.get(path, async (ctx: Context) => {
    const { records } = await ctx.paginate<Order | Invoice | Basket>(model)
    return ctx.respond({ data: records })
  })
  app.post(path, async (ctx: Context) => respond(ctx, new model(), 201))
  app.get(`${path}/{id}`, async (ctx: Context) => ctx.respond({ data: await find(ctx) }))
  app.put(`${path}/{id}`, async (ctx: Context) => respond(ctx, await find(ctx), 200))
  app.delete(`${path}/{id}`, async (ctx: Context) => {
    await ctx.destroy(await find(ctx))
    return ctx.respond(204, { data: null })
  })
}

describe('Nested records', () => {
  let database: Database
  let site: Site
  let items: string[]
  let path: string
  let order: { id: string; lines: { id: string; quantity: number; position: number }[] }

  before(async () => {
    const open = (url: string) => new Database({ test: { url, logging: false }, models }, 'test').open()
    database = await open(
      await databaseWithTables('nested_records', async (url) => {
        const created = await open(url)
        await created.synchronize()
        await created.close()
      }),
    )
    const app = new App({ api: true })
    app.use(transaction(database))
    app.use(async (ctx, next) => {
      Reflect.set(ctx, 'user', { id: 'me' })
      await next()
    })
    app.resource(ItemsResource)
    addRoutes(app, '/orders', Order, ['number', 'lines'])
    addRoutes(app, '/baskets', Basket, ['shop_id', 'lines'])
    addRoutes(app, '/invoices', Invoice, ['number', 'lines'])
    app.post('/messages', async (ctx: Context) => {
      const { part } = ctx.request.body as { part: object }
      const order = ctx.bind(new Order(), { from: part, fields: ['number', 'lines'] })
      const errors = await ctx.save(order)
      return errors ? ctx.respond(errors) : ctx.respond(201, { data: order })
    })
    site = await Site.open(app)
    items = []
    for (const user_id of ['me', 'me', 'other']) {
      const item = Object.assign(new Item(), { name: `of ${user_id}`, user_id })
      items.push((await database.manager.save(item)).id)
    }
  })
  after(async () => {
    await site.close()
    await database.close()
  })

  const send = (method: 'post' | 'put', url: string, body: SpecRequest): Promise<SpecResponse> =>
    site[method](url, { ...body, accept: 'json', fromPage: true })
  let numbers = 0
  const create = async (lines: unknown) =>
    send('post', '/orders', { json: { number: `N${++numbers}`, lines } })

  beforeEach(async () => {
    const { json, status } = await create([{ quantity: 1 }, { quantity: 2, note: 'two' }, { quantity: 3 }])
    expect(status, JSON.stringify(json)).to.equal(201)
    order = json
    path = `/orders/${order.id}`
  })

  const stored = async (id = order.id) => {
    const lines = await database.manager.find(OrderLine, {
      where: { order_id: id },
      order: { position: 'ASC' },
    })
    expect(lines.map(({ position }) => position)).to.deep.equal(lines.map((_line, index) => index))
    return lines
  }
  const quantities = async () => (await stored()).map(({ quantity }) => quantity)
  const put = (body: object) => send('put', path, { json: body })

  /** The statements that some work sends, without those of transactions and savepoints. */
  const statementsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
    const { logger } = database
    const all: string[] = []
    database.logger = Object.assign(Object.create(logger), { logQuery: (sql: string) => all.push(sql) })
    await work().finally(() => (database.logger = logger))
    return all.filter((sql) => /^\s*(SELECT|INSERT|UPDATE|DELETE)/i.test(sql))
  }

  it('are created in their order, together with the record', async () => {
    expect(await quantities()).to.deep.equal([1, 2, 3])
    expect(order.lines.map(({ position }) => position)).to.deep.equal([0, 1, 2])
    expect(Object.keys(order.lines[0] ?? {})[0]).to.equal('id')
    const { json } = await site.get(path, { accept: 'json' })
    expect(json).to.deep.equal(order)
    expect(json.total).to.equal(6)
  })

  it('are shown in lists and in XML', async () => {
    const { json } = await site.get('/orders', { accept: 'json' })
    expect(json.find(({ id }: { id: string }) => id === order.id)).to.deep.equal(order)
    const { text } = await site.get(path, { accept: 'xml' })
    expect(text).to.match(/<lines><line><id>.*<quantity>1<.*<\/line><line>.*<\/lines>/s)
  })

  it('are read by one query for all records of a page', async () => {
    await create([{ quantity: 1 }])
    const first = await countQueries(database, () => site.get('/orders?per_page=1', { accept: 'json' }))
    const both = await countQueries(database, () => site.get('/orders?per_page=2', { accept: 'json' }))
    expect(both).to.equal(first)
  })

  it('are changed, moved, added and removed by one list', async () => {
    const [first, second, third] = order.lines
    const lines = [
      { id: third?.id, quantity: 30 },
      { quantity: 9 },
      { id: second?.id.toUpperCase() },
      { id: first?.id },
    ]
    const { status, json } = await put({ lines })
    expect(status, JSON.stringify(json)).to.equal(200)
    expect(json.lines.map(({ id }: { id: string }) => id)).to.deep.equal((await stored()).map(({ id }) => id))
    expect(await quantities()).to.deep.equal([30, 9, 2, 1])
    expect((await stored())[2]?.note).to.equal('two')
    await put({ lines: [{ id: second?.id, note: null }, { id: third?.id }] })
    expect(await quantities()).to.deep.equal([2, 30])
    expect((await stored())[0]?.note).to.equal(null)
  })

  it('stay as they are when the body has no list', async () => {
    expect((await put({ number: `${order.id}` })).status).to.equal(200)
    expect(await quantities()).to.deep.equal([1, 2, 3])
  })

  for (const [what, body] of Object.entries<SpecRequest>({
    'an empty list': { json: { lines: [] } },
    'an empty text': { form: { lines: '' } },
    'an empty element': { xml: '<order><lines/></order>' },
  }))
    it(`read ${what} as no lines, and report that they are too few`, async () => {
      const { status, json } = await send('put', path, body)
      expect(status).to.equal(422)
      expect(json.errors).to.deep.equal({ lines: ['Add at least one line.'] })
      expect(json.codes).to.deep.equal({ lines: ['nested_min'] })
      expect(await quantities()).to.deep.equal([1, 2, 3])
    })

  for (const [what, lines] of Object.entries({
    null: null,
    'a number': 5,
    'a text': 'x',
    'an object': { quantity: 1 },
    'a list with a text': [{ quantity: 1 }, 'x'],
    'a list with null': [null],
    'a list of lists': [[1]],
  }))
    it(`reject ${what}`, async () => {
      const { status, json } = await put({ lines })
      expect(status).to.equal(422)
      expect(json.codes).to.deep.equal({ lines: ['type.list'] })
    })

  it('reject more lines than max before any is bound', async () => {
    const { status, json } = await put({ lines: Array.from({ length: 9 }, () => ({ quantity: 'x' })) })
    expect(status).to.equal(422)
    expect(json.errors).to.deep.equal({ lines: ['Add at most 8 lines.'] })
  })

  it('ignore the position, the key and unknown attributes of an entry', async () => {
    const other = await create([{ quantity: 5 }])
    const extra = { position: 'x', order_id: other.json.id, created_at: 'x', order: { number: 'hacked' } }
    const { status } = await put({
      lines: [
        { id: order.lines[0]?.id, ...extra },
        { quantity: 4, ...extra },
      ],
    })
    expect(status).to.equal(200)
    expect(await quantities()).to.deep.equal([1, 4])
    expect(await stored(other.json.id)).to.have.length(1)
  })

  it('have all errors of the record and its lines by their paths', async () => {
    const lines = [{ quantity: 0 }, { quantity: 'x' }, { quantity: 5, item_id: unknown }, {}]
    const { status, json } = await put({ number: '', lines })
    expect(status).to.equal(422)
    expect(json.codes).to.deep.include({ number: ['present'], 'lines.0.quantity': ['min'] })
    expect(json.codes['lines.1.quantity']).to.deep.equal(['type.int'])
    expect(json.codes['lines.2.item_id']).to.deep.equal(['reference'])
    expect(json.errors['lines.0.quantity']).to.deep.equal(['Quantity must be 1 or more.'])
    expect(json.codes['lines.3.quantity']).to.include('min')
    expect(await quantities()).to.deep.equal([1, 2, 3])
    const xml = await site.put(path, { json: { lines }, accept: 'xml', fromPage: true })
    expect(xml.text).to.include('lines.0.quantity')
  })

  it('are not written when the database rejects the record', async () => {
    const other = await create([{ quantity: 1 }])
    const { status } = await put({ number: other.json.number, lines: [{ quantity: 8 }] })
    expect(status).to.equal(409)
    expect(await quantities()).to.deep.equal([1, 2, 3])
  })

  it('report the hooks of their model and of the record', async () => {
    const one = await put({ lines: [{ quantity: 1 }, { quantity: 1, note: 'forbidden' }] })
    expect(one.json.errors).to.deep.equal({ 'lines.1.note': ['Note is forbidden.'] })
    const two = await put({ lines: [{ quantity: 1, note: 'cursed' }] })
    expect(two.json.errors).to.deep.equal({ lines: ['These lines are cursed.'] })
    // The hook of the record counts its lines, without the row that the form removes.
    const form: [string, string][] = [
      ['lines[0][id]', String(order.lines[0]?.id)],
      ['lines[0][_remove]', 'true'],
      ['lines[1][quantity]', '1'],
      ['lines[2][quantity]', '13'],
      ['lines[2][note]', 'unlucky'],
    ]
    const three = await send('put', path, { form })
    expect(three.json.errors).to.deep.equal({ 'lines.2.quantity': ['Quantity brings bad luck.'] })
    expect(await quantities()).to.deep.equal([1, 2, 3])
  })

  it('report a unique value that two lines have, or that a line of another record has', async () => {
    const serial = `S${numbers}`
    const twice = await put({
      lines: [
        { quantity: 1, serial },
        { quantity: 2, serial },
      ],
    })
    expect(twice.status).to.equal(422)
    expect(twice.json.errors).to.deep.equal({ 'lines.1.serial': ['Serial has already been taken.'] })
    await create([{ quantity: 1, serial }])
    const other = await put({ lines: [{ id: order.lines[0]?.id }, { quantity: 1 }, { quantity: 2, serial }] })
    expect(other.status).to.equal(409)
    expect(other.json.codes).to.deep.equal({ 'lines.2.serial': ['unique'] })
    expect(await quantities()).to.deep.equal([1, 2, 3])
    const changed = await put({ lines: [{ id: order.lines[0]?.id }, { id: order.lines[1]?.id, serial }] })
    expect(changed.json.codes).to.deep.equal({ 'lines.1.serial': ['unique'] })
    expect(await quantities()).to.deep.equal([1, 2, 3])
  })

  it('say the same of the id of another line, of an unknown one and of a repeated one', async () => {
    const other = await create([{ quantity: 7 }])
    const [line] = other.json.lines
    const errorOf = async (id: unknown) => (await put({ lines: [{ quantity: 1 }, { id, quantity: 2 }] })).json
    const foreign = await errorOf(line.id)
    expect(foreign.codes).to.deep.equal({ 'lines.1': ['nested_unknown'] })
    expect(foreign.errors).to.deep.equal((await errorOf(unknown)).errors)
    expect(foreign.errors).to.deep.equal((await errorOf('x')).errors)
    expect(foreign.errors).to.deep.equal((await errorOf({ a: 1 })).errors)
    const [first] = order.lines
    const twice = await put({ lines: [{ id: first?.id }, { id: first?.id }] })
    expect(twice.json.errors).to.deep.equal(foreign.errors)
    const created = await create([{ id: line.id, quantity: 1 }])
    expect(created.json.codes).to.deep.equal({ 'lines.0': ['nested_unknown'] })
    expect((await stored(other.json.id)).map(({ quantity }) => quantity)).to.deep.equal([7])
  })

  it('cannot refer to a record outside of the scope of its policy', async () => {
    const { status, json } = await put({
      lines: [
        { quantity: 1, item_id: items[0] },
        { quantity: 1, item_id: items[2] },
      ],
    })
    expect(status).to.equal(422)
    expect(json.codes).to.deep.equal({ 'lines.1.item_id': ['reference'] })
    const missing = await put({ lines: [{ quantity: 1 }, { quantity: 1, item_id: unknown }] })
    expect(missing.json.errors).to.deep.equal(json.errors)
    expect((await put({ lines: [{ quantity: 1, item_id: items[1] }] })).status).to.equal(200)
  })

  it('refer only to records in the parent of their record, even if it is new', async () => {
    const [shop, other] = await database.manager.save(
      [{ name: 'A' }, { name: 'B' }].map((it) => Object.assign(new Shop(), it)),
    )
    const goods = await database.manager.save(
      [shop, other].map((it) => Object.assign(new Good(), { shop_id: it?.id })),
    )
    const [own, foreign] = goods.map(({ id }) => ({ good_id: id }))
    const created = await send('post', '/baskets', { json: { shop_id: shop?.id, lines: [own, foreign] } })
    expect(created.json.codes).to.deep.equal({ 'lines.1.good_id': ['reference'] })
    const { json } = await send('post', '/baskets', { json: { shop_id: shop?.id, lines: [own] } })
    const url = `/baskets/${json.id}`
    const changed = await send('put', url, { json: { lines: [{ id: json.lines[0].id, ...foreign }, own] } })
    expect(changed.json.codes).to.deep.equal({ 'lines.0.good_id': ['reference'] })
    expect((await send('put', url, { json: { lines: [own, { id: json.lines[0].id }] } })).status).to.equal(
      200,
    )
  })

  it('are deleted with their record', async () => {
    expect((await site.delete(path, { accept: 'json', fromPage: true })).status).to.equal(204)
    expect(await stored()).to.deep.equal([])
  })

  it('stay as they are when their record moves to the trash, which calls none of their hooks', async () => {
    const { json } = await send('post', '/invoices', { json: { number: '1', lines: [{ text: 'paid' }] } })
    const url = `/invoices/${json.id}`
    const changed = await send('put', url, { json: { lines: [{ id: json.lines[0].id }, { text: 'new' }] } })
    expect(changed.json.errors).to.deep.equal({ 'lines.0.text': ['This line is paid.'] })
    expect((await site.delete(url, { accept: 'json', fromPage: true })).status).to.equal(204)
    expect((await site.get(url, { accept: 'json' })).status).to.equal(404)
    const lines = await database.manager.findBy(InvoiceLine, { invoice_id: json.id })
    expect(lines.map(({ text }) => text)).to.deep.equal(['paid'])
  })

  it('need at most four statements for a create and five for an update, whatever their number', async () => {
    const lines = Array.from({ length: 8 }, (_line, index) => ({ quantity: index + 1, item_id: items[0] }))
    expect(await statementsOf(() => create(lines))).to.have.length.at.most(4)
    const invoice = await send('post', '/invoices', {
      json: { number: '1', lines: [{ text: 'a' }, { text: 'b' }] },
    })
    const [first] = invoice.json.lines
    const body = { number: '2', lines: [{ id: first.id, text: 'c' }, { text: 'd' }, { text: 'e' }] }
    const updating = await statementsOf(() => send('put', `/invoices/${invoice.json.id}`, { json: body }))
    // Two more statements read the invoice and its lines.
    expect(updating).to.have.length.at.most(5 + 2)
    const [line] = order.lines
    const change = { number: `${order.id}`, lines: [{ quantity: 9 }, { id: line?.id, item_id: items[0] }] }
    // Without a version, one more reads and locks the lines. One checks the items, and one the unique positions.
    expect(await statementsOf(() => put(change))).to.have.length.at.most(5 + 2 + 3)
  })

  it('raise the version of their record only when they change', async () => {
    const { json } = await send('post', '/invoices', { json: { number: '1', lines: [{ text: 'a' }] } })
    const url = `/invoices/${json.id}`
    const [{ id }] = json.lines
    const save = async (lines: object[], lock_version?: number) =>
      send('put', url, { json: { lines, ...(lock_version && { lock_version }) } })
    expect((await save([{ id, text: 'a' }])).json.lock_version).to.equal(1)
    expect((await save([{ id, text: 'b' }])).json.lock_version).to.equal(2)
    expect((await save([{ id }, { text: 'c' }])).json.lock_version).to.equal(3)
    const stale = await save([{ id, text: 'z' }], 1)
    expect(stale.status).to.equal(409)
    expect(stale.json.codes).to.deep.include({ base: ['stale'], lines: ['changed'] })
    const { json: now } = await site.get(url, { accept: 'json' })
    expect(now.lines.map(({ text }: { text: string }) => text)).to.deep.equal(['b', 'c'])
    expect((await save([], 3)).json).to.deep.include({ lock_version: 4, lines: [] })
  })

  it('are one of the lists that were sent, never a mixture, when requests change them at the same time', async () => {
    const sent = Array.from({ length: 6 }, (_list, list) =>
      [1, 2, 3].map((place) => ({
        quantity: list * 10 + place,
        id: list % 2 ? order.lines[place - 1]?.id : undefined,
      })),
    )
    const responses = await Promise.all(sent.map((lines) => put({ lines })))
    expect(
      responses.map(({ status }) => status).filter((status) => status >= 500 && status !== 503),
    ).to.deep.equal([])
    expect(sent.map((list) => String(list.map(({ quantity }) => quantity)))).to.include(
      String(await quantities()),
    )
  })

  it('are written all or not at all', async () => {
    const before = await database.manager.count(OrderLine)
    const lists = Array.from({ length: 40 }, (_list, index) => [
      { quantity: 1 },
      { quantity: 2 },
      { quantity: index % 2 },
    ])
    const responses = await Promise.all(lists.map((lines) => create(lines)))
    const saved = responses.filter(({ status }) => status === 201).length
    expect(saved).to.equal(20)
    expect(await database.manager.count(OrderLine)).to.equal(before + saved * 3)
  })

  it(`store what random lists contain, in their order`, async () => {
    for (let round = 0; round < total; round++) {
      const random = new Random(seed + round)
      const note = `KIT_NESTED_SEED=${seed + round} KIT_NESTED=1`
      let model: { id?: string | undefined; quantity: number; note: string | null }[] = order.lines.map(
        ({ id, quantity }, index) => ({ id, quantity, note: index === 1 && round === 0 ? 'two' : null }),
      )
      if (round > 0)
        model = (await stored()).map(({ id, quantity, note: text }) => ({ id, quantity, note: text }))
      let next = model.filter(() => random.chance(0.8)).map((line) => ({ ...line }))
      for (const line of next) if (random.chance(0.4)) line.quantity = 1 + random.below(500)
      for (const line of next) if (random.chance(0.2)) line.note = random.of(['a', 'ü & <b>', 'x y'])
      if (random.chance(0.5))
        next.push(...random.several(3, () => ({ quantity: 1 + random.below(500), note: 'new' })))
      if (random.chance(0.6)) next = next.toSorted(() => random.next() - 0.5)
      next = next.slice(0, 8)
      if (next.length === 0) next.push({ quantity: 5, note: null })
      const format = random.of(['json', 'xml', 'form'])
      const body: SpecRequest =
        format === 'json'
          ? { json: { lines: next } }
          : format === 'xml'
            ? { xml: { order: { lines: next } } }
            : {
                form: next.flatMap(({ id, quantity, note: text }, index): [string, string][] => [
                  [`lines[${index * 3}][id]`, id ?? ''],
                  [`lines[${index * 3}][quantity]`, String(quantity)],
                  [`lines[${index * 3}][note]`, text ?? ''],
                ]),
              }
      const { status, json } = await send('put', path, body)
      expect(status, `${note} ${JSON.stringify(json)}`).to.equal(200)
      const rows = await stored()
      const plain = (lines: { quantity: number; note: string | null }[]) =>
        lines.map((line) => [line.quantity, line.note])
      expect(plain(rows), `${note} ${format}`).to.deep.equal(plain(next))
      for (const [index, { id }] of next.entries()) if (id) expect(rows[index]?.id, note).to.equal(id)
      expect(json.lines.map(({ id }: { id: string }) => id)).to.deep.equal(rows.map(({ id }) => id))
    }
  })

  it('leave out blank rows of a form, and those that it removes', async () => {
    const [first, second, third] = order.lines.map(({ id }) => id)
    const form: [string, string][] = [
      ['lines[0][id]', String(first)],
      ['lines[0][quantity]', '11'],
      ['lines[1][id]', String(second)],
      ['lines[1][quantity]', '12'],
      ['lines[1][_remove]', 'true'],
      ['lines[2][id]', String(third)],
      ['lines[3][quantity]', ''],
      ['lines[3][note]', ' '],
      ['lines[4][quantity]', '14'],
      ['lines[__proto__][quantity]', '15'],
    ]
    const { status, json } = await send('put', path, { form })
    expect(status, JSON.stringify(json)).to.equal(200)
    expect(await quantities()).to.deep.equal([11, 3, 14])
  })

  it('of ten thousand rows are rejected as every such body', async () => {
    const form = Array.from({ length: 10_000 }, (_row, index): [string, string] => [
      `lines[${index}][quantity]`,
      '1',
    ])
    expect((await send('put', path, { form })).status).to.be.oneOf([400, 413])
    expect(await quantities()).to.deep.equal([1, 2, 3])
  })

  it('are bound from any object by the same rules', async () => {
    const messages = [
      { number: 'M1', total: 99, lines: [{ quantity: '7', position: 5 }, { quantity: 2 }] },
      { number: 'M2', lines: [{ quantity: 'x' }] },
    ]
    const [good, bad] = await Promise.all(
      messages.map(async (from) => (await send('post', '/messages', { json: { part: from } })).json),
    )
    expect(good).to.deep.include({ number: 'M1', total: 9 })
    expect((await stored(good.id)).map(({ quantity }) => quantity)).to.deep.equal([7, 2])
    expect(bad.codes).to.deep.equal({ 'lines.0.quantity': ['type.int'] })
  })

  it('are described to the last attribute in the OpenAPI document', () => {
    const [declared] = documentsOf(documented.declarations, { title: 'A', version: '1' })
    const { schemas } = buildDocument(documented.declarations, declared!).document.components
    const required = ['id', 'created_at', 'updated_at', 'order_id', 'position', 'quantity', 'item_id']
    expect(schemas['OrderLine']).to.have.property('required').that.includes.members(required)
    const line = schemas['OrderLineBody']
    const names = ['id', 'item_id', 'quantity', 'note', 'serial']
    expect(Object.keys(Object(line?.['properties']))).to.deep.equal(names)
    expect(line).not.to.have.property('required')
    expect(line).to.have.nested.property('properties.quantity.minimum', 1)
    expect(schemas['Order']).to.deep.nested.include({
      'properties.lines.items': { $ref: '#/components/schemas/OrderLine' },
    })
    const bodies = Object.values(schemas).filter((one) => Reflect.has(Object(one['properties']), 'lines'))
    const limited = bodies.map((one) => Reflect.get(Object(one['properties']), 'lines'))
    const items = { $ref: '#/components/schemas/OrderLineBody' }
    const found = limited.filter((one) => one.items.$ref === items.$ref)
    expect(found).to.have.length.at.least(2)
    for (const one of found) expect(one).to.deep.include({ type: 'array', items, minItems: 1, maxItems: 8 })
  })

  it('cannot have policies', async () => {
    class LinePolicy extends Policy<OrderLine> {
      scope() {
        return {}
      }
    }
    @Resource('/lines', { model: OrderLine, policy: LinePolicy })
    class LinesResource extends BaseResource {}
    const app = new App({ api: true })
    app.resource(LinesResource)
    const error = await failure(app.start())
    expect(String(error)).to.include('OrderLine has a policy, but its records are lines of Order.lines')
  })
})
