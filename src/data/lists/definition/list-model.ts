import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { DeclarationError } from '../../../errors.js'
import { nearest } from '../../../naming/spelling.js'
import { kindOf } from '../../attributes/attributes.js'
import { isHiddenProperty } from '../../attributes/transform-metadata.js'
import { valueReader } from '../../records/conditions.js'
import type { ListColumn, ListDefinition, SortKey } from './definition.js'

/** The model of a declaration. It finds the columns and relations that the declaration names, and reports mistakes. */
export class ListModel {
  /** @param list the list in messages: `@Queryable of PostsResource.list` */
  constructor(
    readonly metadata: EntityMetadata,
    readonly list: string,
  ) {}

  /** @param verb what the list does with the column, for messages: `sorts by` */
  column(name: string, verb: string): ListColumn {
    const found = this.attribute(name, verb)
    this.rejectHidden(name, verb)
    const kind = found.isArray ? undefined : kindOf(found.type)
    if (kind === undefined || found.transformer) {
      const why = found.transformer ? 'has a transformer' : `has the type ${String(found.type)}`
      this.fail(`${verb} "${name}", which ${why}. Remove it, or declare a custom filter with filter().`)
    }
    return listColumn(found)
  }

  /** A column of any type. */
  attribute(name: string, verb: string): ColumnMetadata {
    const { columns, targetName } = this.metadata
    const found = columns.find(({ propertyPath, isVirtual }) => propertyPath === name && !isVirtual)
    const advice = found ? '' : this.adviceForColumn(name)
    return found ?? this.fail(`${verb} "${name}", which isn't a column of ${targetName}.${advice}`)
  }

  private adviceForColumn(name: string): string {
    const { columns, relations } = this.metadata
    const relation = relations.find(({ propertyPath }) => propertyPath === name)
    const key = relation?.joinColumns[0]?.propertyName
    if (key !== undefined) return ` Use its key "${key}".`
    return didYouMean(name, columns.map(pathOf)) || ' Correct the name, or declare it by filter().'
  }

  relation(name: string): RelationMetadata {
    const { relations, targetName } = this.metadata
    const relation = relations.find(({ propertyPath }) => propertyPath === name)
    if (!relation) {
      const advice = didYouMean(name, relations.map(pathOf)) || ' Declare the relation, or remove it.'
      return this.fail(`includes "${name}", which isn't a relation of ${targetName}.${advice}`)
    }
    this.rejectHidden(name, 'includes')
    return relation
  }

  private rejectHidden(name: string, verb: string): void {
    if (!isHidden(this.metadata, name)) return
    this.fail(
      `${verb} "${name}", which is hidden, so that clients could find out its value. Remove it here, or show it in JSON and XML.`,
    )
  }

  /** @throws DeclarationError that begins with the name of the list */
  fail(problem: string): never {
    throw new DeclarationError(`${this.list} ${problem}`)
  }
}

function pathOf({ propertyPath }: { propertyPath: string }): string {
  return propertyPath
}

/** A column as lists use it. Its type must have a kind. */
export function listColumn(metadata: ColumnMetadata): ListColumn {
  return {
    name: metadata.propertyPath,
    metadata,
    // Columns of other types have been rejected.
    kind: kindOf(metadata.type) ?? 'string',
    values: metadata.enum?.map(String),
    read: valueReader(metadata),
  }
}

/**
 * The order of a handler as sort keys.
 *
 * @throws DeclarationError when it has something else than columns with a direction
 */
export function sortKeysOf(definition: ListDefinition, order: object, list: string): SortKey[] {
  return Object.entries(order).map(([name, direction]) => {
    const metadata = definition.metadata.findColumnWithPropertyPathStrict(name)
    const text = String(direction).toUpperCase()
    const isDescending = text === 'DESC' || text === '-1'
    if (!metadata || (!isDescending && text !== 'ASC' && text !== '1')) {
      throw new DeclarationError(
        `${list} has the order "${name}". Use columns with the direction ASC or DESC, or remove the order.`,
      )
    }
    const column = listColumn(metadata)
    if (definition.hasCursors) rejectWithoutCursor(column, list)
    return { column, isDescending }
  })
}

/** A cursor contains the value of each column of the order, which must be the same in the database and in JavaScript. */
export function rejectWithoutCursor({ name, kind, metadata }: ListColumn, list: string): void {
  const isInexact = kind === 'enum' || kind === 'float'
  if (!isInexact && !metadata.isNullable) return
  const why = isInexact ? `has the kind ${kind}` : 'can be null'
  throw new DeclarationError(
    `${list} has cursor pages and sorts by "${name}", which ${why}. Remove it from the order, or use pages: 'numbers'.`,
  )
}

/** ` Did you mean "title"?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const near = nearest(name, known)
  return near === undefined ? '' : ` Did you mean "${near}"?`
}

/**
 * Whether JSON and XML don't show a property of a model as it is stored: `select: false`, or the rules of
 * class-transformer. A filter by such a column would reveal its value bit by bit.
 */
function isHidden({ target, columns }: EntityMetadata, property: string): boolean {
  const column = columns.find(({ propertyPath }) => propertyPath === property)
  return column?.isSelect === false || isHiddenProperty(target, property.split('.')[0] ?? property)
}
