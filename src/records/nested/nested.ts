import type { EntityMetadata } from 'typeorm'
import { hasNestedLists, declareNested, type NestedOptions } from '../../models/attributes/nested-lists.js'
import { nestedListsOf } from '../../models/attributes/attributes.js'
import type { Model } from '../../models/model.js'
import { takePart } from '../participants.js'

/**
 * Declares a list of records that are a part of a record: the lines of an order. `ctx.find` and `ctx.paginate` read them with one
 * query, JSON and XML contain them, `ctx.bind` sets them, and `ctx.save` validates and writes them together with the record.
 *
 * The model of the lines needs the key of the record (`order_id`), and a `position` column with the index of the line.
 *
 * @example
 * ```ts
 * @Entity('orders')
 * export class Order extends Model {
 *   @OneToMany(() => OrderLine, (line) => line.order)
 *   @Nested<OrderLine>({ fields: ['item_id', 'quantity'], min: 1 })
 *   lines!: OrderLine[]
 * }
 * ```
 * @param options the start fails with a DeclarationError if they do not fit the models
 */
export function Nested<Line extends Model>(options: NestedOptions<Line>): PropertyDecorator {
  return function nested(target: object, name: string | symbol): void {
    if (!hasNestedLists()) takePartInLines()
    declareNested(target.constructor, String(name), options)
  }
}

/** The module with the writes is loaded for the first record with lines. */
function takePartInLines(): void {
  const lines = () => import('./lines.js')
  takePart({
    concerns: ({ target }: EntityMetadata) =>
      typeof target === 'function' && nestedListsOf(target).length > 0,
    writes: ({ entityMetadata: { target }, propertyName }) =>
      typeof target === 'function' && nestedListsOf(target).some(({ name }) => name === propertyName),
    check: async (write) => (await lines()).checkLines(write),
    before: async (write) => (await lines()).prepareLines(write),
    changes: async (write) => (await lines()).changesLines(write),
    after: async (write) => (await lines()).writeLines(write),
    undone: async (write) => (await lines()).undoLines(write),
    loaded: async (work, metadata, records) => (await lines()).loadLines(work, metadata, records),
  })
}
