import type { DataSource, EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { DeclarationError } from '../../errors.js'
import { memoizeByObject } from '../../common/memoize.js'
import { attributesOf, nestedListsOf } from '../../models/attributes/attributes.js'
import type { NestedList } from '../../models/attributes/nested-lists.js'
import { ownKeysOf } from '../../models/record-state.js'
import { implyWithin } from '../within.js'

/** A list of lines, and how they are stored. */
export interface Lines extends NestedList {
  readonly metadata: EntityMetadata
  /** The `order_id` column. */
  readonly key: ColumnMetadata
  /** The `position` column. */
  readonly position: ColumnMetadata
  /** Whether a unique index contains the position. */
  readonly hasUniquePosition: boolean
  /** The properties of unique indexes without the position, which no two lines of a list may share. */
  readonly unique: readonly (readonly string[])[]
}

/** The most lines of a list. */
const mostLines = 1000

/**
 * The lists of a model with `@Nested`. A line is within its record, as `@Within` says it of other models.
 *
 * @throws DeclarationError when a list cannot be stored
 */
export const linesOf = memoizeByObject((metadata: EntityMetadata): readonly Lines[] => {
  if (typeof metadata.target !== 'function') return []
  return nestedListsOf(metadata.target).map((list) => toLines(metadata, list))
})

/** Checks the lists of all models. */
export function checkNested({ entityMetadatas }: DataSource): void {
  for (const metadata of entityMetadatas) linesOf(metadata)
}

function toLines(owner: EntityMetadata, list: NestedList): Lines {
  const { name, line, fields, min, max } = list
  const fail = (reason: string): never => {
    throw new DeclarationError(`@Nested of ${owner.targetName}.${name} ${reason}`)
  }
  const relation = owner.findRelationWithPropertyPath(name)
  if (!relation?.isOneToMany) return fail('needs a list that is declared with @OneToMany.')
  const metadata = relation.inverseEntityMetadata
  const [key] = relation.inverseRelation ? ownKeysOf(relation.inverseRelation) : []
  if (!key || key.isNullable)
    return fail(
      `needs a required key in ${line.name}, which is a property: @Column('uuid') ${owner.name.toLowerCase()}_id.`,
    )
  const position = metadata.findColumnWithPropertyName('position')
  if (!position)
    return fail(`needs a column for the place of a line: @Column('int') position in ${line.name}.`)
  const known = attributesOf(line).filter(({ isList }) => !isList)
  const settable = known
    .map((one) => one.name)
    .filter((one) => one !== key.propertyName && one !== 'position')
  const unknown = fields.find((field) => !settable.includes(field))
  if (unknown !== undefined)
    return fail(
      `has the field "${unknown}", which a request cannot set. The fields can be: ${settable.join(', ')}.`,
    )
  const areNumbers = Number.isInteger(min) && Number.isInteger(max)
  if (!areNumbers || min < 0 || max < Math.max(1, min) || max > mostLines)
    return fail(`needs whole numbers from 0 to ${mostLines} as min and max, and min must not exceed max.`)
  if (nestedListsOf(line).length > 0) return fail(`has lines with lines. Remove @Nested from ${line.name}.`)
  implyWithin(line, [key.propertyName])
  const indexes = [...metadata.uniques, ...metadata.indices.filter(({ isUnique }) => isUnique)]
  const unique = indexes.map(({ columns }) => columns.map(({ propertyName }) => propertyName))
  return {
    ...list,
    line,
    metadata,
    key,
    position,
    hasUniquePosition: unique.some((names) => names.includes('position')),
    unique: unique
      .filter((names) => !names.includes('position'))
      .map((names) => names.filter((one) => one !== key.propertyName)),
  }
}
