import type { Model } from '../model.js'

/** A property with the ids of the records of a to-many relation. */
export interface RelationIdsProperty {
  /** For example `label_ids`. */
  name: string
  /** For example `labels`. */
  relation: string
}

const properties = new WeakMap<Function, RelationIdsProperty[]>()

/**
 * Declares a property with the ids of a many-to-many relation. `ctx.find` and `ctx.paginate` read it with one
 * query, JSON and XML contain it, `ctx.bind` sets it, and `ctx.save` writes the join table if it was bound or
 * assigned.
 *
 * @example
 * ```ts
 * @Entity('issues')
 * export class Issue extends Model {
 *   @ManyToMany(() => Label)
 *   @JoinTable({ name: 'issues_labels' })
 *   labels?: Relation<Label>[]
 *
 *   @RelationIds('labels')
 *   label_ids!: string[]
 * }
 * ```
 * @param relation the property of the relation
 */
export function RelationIds<Name extends string>(relation: Name) {
  return function relationIds(target: { [Property in Name]?: readonly Model[] }, name: string): void {
    const previous = properties.get(target.constructor) ?? []
    properties.set(target.constructor, [...previous, { name, relation }])
  }
}

/** The properties with ids that a class itself declares. */
export function ownRelationIds(model: Function): readonly RelationIdsProperty[] {
  return properties.get(model) ?? []
}
