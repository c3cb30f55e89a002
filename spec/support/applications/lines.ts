import { Min } from 'class-validator'
import { Column, Entity, JoinColumn, ManyToOne, OneToMany, VersionColumn, type Relation } from 'typeorm'
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
} from '../../../src/index.js'
import { databaseWithTables } from '../databases.js'

@Entity('line_items')
export class Item extends Model {
  @Column('varchar') name!: string
  @Column('varchar') user_id!: string
}

@Entity('line_orders')
export class Order extends Model {
  @Column('varchar') @Present() number!: string
  @Column('varchar') user_id!: string
  @VersionColumn() lock_version!: number

  @OneToMany(() => OrderLine, (line) => line.order)
  @Nested<OrderLine>({ fields: ['item_id', 'quantity'], min: 1 })
  lines!: OrderLine[]
}

@Entity('line_order_lines')
export class OrderLine extends Model {
  @Column('uuid') order_id!: string
  @Column('int') position!: number
  @Column('uuid') @Present() item_id!: string
  @Column('int') @Min(1) quantity!: number

  @ManyToOne(() => Order, (order) => order.lines, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'order_id' })
  order?: Relation<Order>

  @ManyToOne(() => Item)
  @JoinColumn({ name: 'item_id' })
  item?: Relation<Item>
}

/** A user sees what belongs to them. */
class ItemPolicy extends Policy<Item> {
  scope(user?: { id: string }) {
    return user ? { user_id: user.id } : nothing
  }
}

class OrderPolicy extends Policy<Order> {
  scope(user?: { id: string }) {
    return user ? { user_id: user.id } : nothing
  }

  create() {
    return true
  }

  update() {
    return true
  }
}

@Resource('/items', { model: Item, policy: ItemPolicy })
class ItemsResource extends BaseResource {}

@Resource('/orders', { model: Order, fields: ['number', 'lines'], policy: OrderPolicy })
class OrdersResource extends BaseResource {
  override async show(ctx: Context) {
    return ctx.respond({ data: await ctx.find(Order, ctx.params['order_id']) })
  }

  override async create(ctx: Context) {
    const order = ctx.bind(Object.assign(new Order(), { user_id: ctx.get('x-user') }))
    await ctx.authorize(order)
    const errors = await ctx.save(order)
    return errors ? ctx.respond(errors) : ctx.respond(201, { data: order })
  }

  override async update(ctx: Context) {
    const order = await ctx.find(Order, ctx.params['order_id'])
    await ctx.authorize(order)
    const errors = await ctx.save(ctx.bind(order))
    return errors ? ctx.respond(errors) : ctx.respond({ data: order })
  }
}

/** Opens a database of orders with lines. */
export function openLinesAt(url: string): Promise<Database> {
  const settings = { url, logging: false, acquireTimeout: 60_000 }
  return new Database({ test: settings, models: [Item, Order, OrderLine] }, 'test').open()
}

/** The url of a database with the tables of orders, which are empty. */
export function linesDatabase(): Promise<string> {
  return databaseWithTables('lines', async (url) => {
    const database = await openLinesAt(url)
    await database.synchronize()
    await database.close()
  })
}

/** An API of orders, whose user is in the `x-user` header. */
export function linesApp(database: Database): App {
  const app = new App({ api: true })
  app.use(transaction(database))
  app.use(async (ctx, next) => {
    Reflect.set(ctx, 'user', { id: ctx.get('x-user') })
    await next()
  })
  app.resource(ItemsResource)
  app.resource(OrdersResource)
  return app
}
