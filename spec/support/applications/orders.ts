import { setTimeout } from 'node:timers/promises'
import { Column, Entity, Table, type MigrationInterface, type QueryRunner } from 'typeorm'
import { rateLimitsTable } from '../../../src/auth/index.js'
import {
  BaseResource,
  column,
  Model,
  Present,
  primaryKey,
  Resource,
  sessionsTable,
  timestamps,
  type Context,
  type DatabaseConfig,
} from '../../../src/index.js'

/** The lines of every order. An order with fewer lines is incomplete. */
export const linesOfOrder = 3

@Entity('orders')
export class Order extends Model {
  @Column('varchar')
  @Present()
  title!: string
}

@Entity('order_lines')
export class OrderLine extends Model {
  @Column('uuid')
  order_id!: string

  @Column('int')
  place!: number
}

class CreateOrders1795000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    const orders = [primaryKey(runner), column(runner, 'title', 'string'), ...timestamps(runner)]
    await runner.createTable(new Table({ name: 'orders', columns: orders }))
    const lines = [
      primaryKey(runner),
      column(runner, 'order_id', 'uuid'),
      column(runner, 'place', 'int'),
      ...timestamps(runner),
    ]
    await runner.createTable(new Table({ name: 'order_lines', columns: lines }))
    await runner.createTable(sessionsTable(runner))
    await runner.createTable(rateLimitsTable(runner))
  }

  async down(runner: QueryRunner) {
    for (const table of ['rate_limits', 'sessions', 'order_lines', 'orders']) await runner.dropTable(table)
  }
}

/** Orders that are created with their lines, which takes a while, and fails after the inserts if the title says so. */
@Resource('/orders')
export class OrdersResource extends BaseResource {
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Order)
    return ctx.respond({ json: records })
  }

  override async show(ctx: Context) {
    return ctx.respond({ json: await ctx.find(Order, ctx.params['order_id']) })
  }

  override async create(ctx: Context): Promise<void> {
    const order = ctx.bind(new Order())
    await ctx.save(order)
    for (let place = 1; place <= linesOfOrder; place++) {
      await ctx.tx.save(ctx.tx.create(OrderLine, { order_id: order.id, place }))
    }
    await setTimeout(2)
    if (order.title.startsWith('fails')) throw new Error('after the inserts')
    return ctx.respond(201, { json: order })
  }
}

/** The database of orders at this url. */
export function config(url: string): DatabaseConfig {
  return {
    test: { url, acquireTimeout: 60_000 },
    models: [Order, OrderLine],
    migrations: [CreateOrders1795000000000],
  }
}
