import 'reflect-metadata'
import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Min, validate } from 'class-validator'
import { pino } from 'pino'
import { Column, Entity, In, Index, JoinColumn, ManyToOne, OneToMany, type Relation } from 'typeorm'
import {
  App,
  BaseResource,
  Database,
  Model,
  Nested,
  Present,
  Resource,
  Route,
  transaction,
  type Context,
} from '../../src/index.js'
import { machine } from '../shared/machine.js'
import { median } from '../shared/statistics.js'

/**
 * npm run bench:nested: saves of an order with lines, beside the same work by hand.
 *
 *     npm run bench:nested                              on SQLite
 *     DATABASE_URL=postgres://127.0.0.1/bench npm run bench:nested -- --rounds 5 --lines 100
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    lines: { type: 'string', default: '20' },
    saves: { type: 'string', default: '100' },
  },
})
const [rounds, lines, saves] = [Number(options.rounds), Number(options.lines), Number(options.saves)]
const file = '/tmp/kit-bench-nested.sqlite'

@Entity('bench_items')
class Item extends Model {
  @Column('varchar') @Present() name!: string
}

@Entity('bench_orders')
class Order extends Model {
  @Column('varchar') @Present() number!: string

  @OneToMany(() => OrderLine, (line) => line.order)
  @Nested<OrderLine>({ fields: ['item_id', 'quantity', 'note'], min: 1, max: 1000 })
  lines!: OrderLine[]
}

@Entity('bench_order_lines')
@Index(['order_id', 'position'])
class OrderLine extends Model {
  @Column('uuid') order_id!: string
  @Column('int') position!: number
  @Column('uuid') @Present() item_id!: string
  @Column('int') @Min(1) quantity!: number
  @Column('varchar', { nullable: true }) note?: string | null

  @ManyToOne(() => Order, (order) => order.lines, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'order_id' })
  order?: Relation<Order>

  @ManyToOne(() => Item)
  @JoinColumn({ name: 'item_id' })
  item?: Relation<Item>
}

@Resource('/items', { model: Item })
class ItemsResource extends BaseResource {}

/** Each request saves many orders and responds with the milliseconds of CPU time of one, so that HTTP counts little. */
@Resource('/orders', { model: Order, fields: ['number', 'lines'] })
class OrdersResource extends BaseResource {
  @Route('POST', '/ours')
  async ours(ctx: Context) {
    ctx.body = await measured(async () => {
      const errors = await ctx.save(ctx.bind(new Order()))
      if (errors) ctx.throw(422, JSON.stringify(errors.messages))
    })
  }

  /** Binds, validates, checks the references in one query, and inserts the lines in one statement. */
  @Route('POST', '/by-hand')
  async byHand(ctx: Context) {
    ctx.body = await measured(async () => {
      const { number, lines: entries } = Object(ctx.request.body)
      if (!Array.isArray(entries) || entries.length > 1000) ctx.throw(422)
      const order = Object.assign(new Order(), { number: String(number) })
      const made = entries.map((entry, position) => {
        const { item_id, quantity, note } = Object(entry)
        return Object.assign(new OrderLine(), { position, item_id, quantity: Number(quantity), note })
      })
      for (const record of [order, ...made]) if ((await validate(record)).length > 0) ctx.throw(422)
      const ids = [...new Set(made.map(({ item_id }) => item_id))]
      if ((await ctx.tx.countBy(Item, { id: In(ids) })) < ids.length) ctx.throw(422)
      await ctx.tx.insert(Order, order)
      for (const line of made) line.order_id = order.id
      await ctx.tx.insert(OrderLine, made)
    })
  }
}

async function measured(work: () => Promise<void>): Promise<string> {
  const from = process.cpuUsage()
  for (let save = 0; save < saves; save += 1) await work()
  const { user, system } = process.cpuUsage(from)
  return String((user + system) / 1000 / saves)
}

rmSync(file, { force: true })
const url = process.env['DATABASE_URL'] ?? `sqlite:${file}`
const models = [Item, Order, OrderLine]
const database = await new Database({ bench: { url, logging: false }, models }, 'bench').open()
await database.synchronize(true)
const items = await database.manager.save(
  Array.from({ length: lines }, (_, n) => Object.assign(new Item(), { name: `Bolt ${n}` })),
)
const app = new App({ env: 'production', api: true, logger: pino({ enabled: false }) })
app.use(transaction(database, { checksMigrations: false }))
app.resource(ItemsResource)
app.resource(OrdersResource)
const address = await app.listen(0)
const sent = items.map(({ id }, index) => ({ item_id: id, quantity: index + 1, note: 'a note' }))
const body = JSON.stringify({ number: '2026-17', lines: sent })

async function send(path: string): Promise<number> {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(address + path, { method: 'POST', body, headers })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path} returned ${response.status}: ${text.slice(0, 300)}`)
  return Number(text)
}

const [ours, byHand] = [[] as number[], [] as number[]]
// Two more rounds, until V8 has compiled the code.
for (let round = -2; round < rounds; round += 1) {
  const pair = [await send('/orders/ours'), await send('/orders/by-hand')] as const
  if (round >= 0) {
    ours.push(pair[0])
    byHand.push(pair[1])
  }
}
await app.close()
await database.close()
const ratio = median(ours.map((time, round) => time / (byHand[round] ?? Number.NaN)))
console.log(`${JSON.stringify(machine())}, ${lines} lines, ${rounds} rounds of ${saves} saves, medians`)
console.log(`ours    ${median(ours).toFixed(2)} ms CPU a save`)
console.log(`by hand ${median(byHand).toFixed(2)} ms CPU a save`)
console.log(`ours / by hand ${ratio.toFixed(2)}`)
