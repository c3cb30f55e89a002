import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { InstanceChecker } from 'typeorm/util/InstanceChecker.js'
import { kindOf } from '../../../models/attributes/attributes.js'
import { unreadable } from '../../../models/attributes/coerce.js'
import { isInRange } from '../../../models/attributes/readers.js'
import { valueReader } from '../../conditions.js'

/**
 * Whether the operators of conditions compare a column with a date or a number that it cannot have, which
 * some engines reject. Other values than those of operators are read by `readConditions`.
 *
 * @param path the path of the embedded class that has the conditions, ending with a dot
 */
export function exceedsColumns(metadata: EntityMetadata, where: unknown, path = ''): boolean {
  const entries = [where].flat().flatMap((conditions) => Object.entries<unknown>(Object(conditions)))
  return entries.some(([name, value]) => {
    const property = path + name
    const column = metadata.findColumnWithPropertyPathStrict(property)
    if (InstanceChecker.isFindOperator(value))
      return column !== undefined && operandsOf(value).some((operand) => exceeds(column, operand))
    if (metadata.findEmbeddedWithPropertyPath(property))
      return exceedsColumns(metadata, value, `${property}.`)
    const related = metadata.findRelationWithPropertyPath(property)?.inverseEntityMetadata
    return related !== undefined && exceedsColumns(related, value)
  })
}

/** The values of an operator, which may contain others: `Not(Between(...))`. */
function operandsOf(value: unknown): unknown[] {
  if (!InstanceChecker.isFindOperator(value)) return [value]
  return [value.child ?? value.value].flat().flatMap(operandsOf)
}

function exceeds(column: ColumnMetadata, value: unknown): boolean {
  if (value instanceof Date) return !isInRange(value)
  if (typeof value !== 'number' && typeof value !== 'bigint') return false
  const kind = kindOf(column.type)
  // A fraction is compared with whole numbers like those beside it.
  const whole = typeof value === 'number' ? Math.trunc(value) : value
  return (kind === 'int' || kind === 'bigint') && valueReader(column)(whole) === unreadable
}
