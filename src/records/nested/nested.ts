import type { EntityMetadata } from 'typeorm'
import { hasNestedLists, declareNested } from '../../models/attributes/nested-lists.js'
import { nestedListsOf } from '../../models/attributes/attributes.js'
import type { Model } from '../../models/model.js'
import type { AttributeOf } from '../../models/attributes/attribute-of.js'
import { takePart } from '../participants.js'

/** The options of `@Nested`. */
export interface NestedOptions<Line extends Model> {
  /** The attributes of a line that a request may set. */
  fields: readonly AttributeOf<Line>[]
  /** The minimum number of lines (0). */
  min?: number
  /** The maximum number of lines (100), at most 1,000. */
  max?: number
  /** The number of empty rows that a form offers after the lines (2). */
  extra?: number
}

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
    const { fields, min = 0, max = 100, extra = 2 } = options
    declareNested(target.constructor, { name: String(name), fields, min, max, extra })
  }
}

/** The modules are loaded for the first record with lines. */
function takePartInLines(): void {
  const checks = () => import('./check.js')
  const comparison = () => import('./compare.js')
  const writes = () => import('./write.js')
  takePart({
    concerns: ({ target }: EntityMetadata) =>
      typeof target === 'function' && nestedListsOf(target).length > 0,
    writes: ({ entityMetadata: { target }, propertyName }) =>
      typeof target === 'function' && nestedListsOf(target).some(({ name }) => name === propertyName),
    check: async (write) => (await checks()).checkLines(write),
    before: async (write) =>
      write.action === 'destroy' ? (await writes()).removeLines(write) : (await checks()).prepareLines(write),
    changesMore: async (write) => (await comparison()).changesLines(write),
    after: async (write) => (await writes()).writeLines(write),
    undone: async (write) => (await checks()).undoLines(write),
    loaded: async (work, metadata, records) => (await import('./read.js')).loadLines(work, metadata, records),
  })
}
