import type { Attribute } from './arguments/attributes.js'
import { itemName } from '../naming/words.js'
import { indexName, indicesOf } from './tables.js'

/** The table of a many-to-many relation. */
export interface JoinTable {
  /** `issues_labels` */
  name: string
  /** The property with the related records: `labels`. */
  property: string
  /** The class of the related records: `Label`. */
  model: string
  /** The foreign keys: the owner's, and that of the related record. */
  keys: readonly [JoinKey, JoinKey]
  /** The source of the index by which the records of a related record are found. */
  indices: string
}

interface JoinKey {
  /** `issue_id` */
  column: string
  /** `issues` */
  table: string
}

/** The tables of the many-to-many relations of a model. */
export function joinTablesOf(table: string, attributes: readonly Attribute[]): JoinTable[] {
  return attributes.flatMap(({ isList, reference }) => {
    if (!isList || !reference) return []
    const { property, model } = reference
    const name = indexName(table, property)
    const column = `${itemName(property)}_id`
    return {
      name,
      property,
      model: model.model,
      keys: [
        { column: `${itemName(table)}_id`, table },
        { column, table: model.plural },
      ],
      indices: indicesOf(name, [{ columns: [column] }]),
    }
  })
}
