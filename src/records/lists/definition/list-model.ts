import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { DeclarationError } from '../../../errors.js'
import { nearest } from '../../../naming/spelling.js'
import { kindOf } from '../../../models/attributes/attributes.js'
import { isHiddenProperty } from '../../../models/attributes/transform-metadata.js'
import { valueReader } from '../../conditions.js'
import type { ListColumn, ListDefinition, SortKey } from './definition.js'

/** The model of a declaration. It finds its columns and relations, and reports mistakes. */
export class ListModel {
  /** @param list the list in messages: `@Queryable of PostsResource.list` */
  constructor(
    readonly metadata: EntityMetadata,
    readonly list: string,
  ) {}

  /** @param verb what the list does with the column, for messages: `sorts by` */
  findColumn(name: string, verb: string): ListColumn {
    const column = this.findMetadata(name, verb)
    this.rejectHidden(name, verb)
    const kind = column.isArray ? undefined : kindOf(column.type)
    if (kind === undefined || column.transformer) {
      const reason = column.transformer ? 'has a transformer' : `has the type ${String(column.type)}`
      this.fail(`${verb} "${name}", which ${reason}. Remove it, or declare a custom filter with filter().`)
    }
    return toListColumn(column)
  }

  /** Finds a column without a check of its type, or whether it is hidden. */
  findMetadata(name: string, verb: string): ColumnMetadata {
    const { columns, targetName } = this.metadata
    const column = columns.find(({ propertyPath, isVirtual }) => propertyPath === name && !isVirtual)
    const advice = column ? '' : this.adviseColumn(name)
    return column ?? this.fail(`${verb} "${name}", which isn't a column of ${targetName}.${advice}`)
  }

  private adviseColumn(name: string): string {
    const { columns, relations } = this.metadata
    const relation = relations.find(({ propertyPath }) => propertyPath === name)
    const key = relation?.joinColumns[0]?.propertyName
    if (key !== undefined) return ` Use its key "${key}".`
    return suggest(name, columns.map(pathOf)) || ' Correct the name, or declare it by filter().'
  }

  findRelation(name: string): RelationMetadata {
    const { relations, targetName } = this.metadata
    const relation = relations.find(({ propertyPath }) => propertyPath === name)
    if (!relation) {
      const advice = suggest(name, relations.map(pathOf)) || ' Declare the relation, or remove it.'
      return this.fail(`includes "${name}", which isn't a relation of ${targetName}.${advice}`)
    }
    this.rejectHidden(name, 'includes')
    return relation
  }

  private rejectHidden(name: string, verb: string): void {
    if (!isHidden(this.metadata, name)) return
    this.fail(
      `${verb} "${name}", which is hidden: in this way, clients could find out its value. Remove it here, or show it in JSON and XML.`,
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

/** Converts the metadata of a column whose type has a kind. */
export function toListColumn(metadata: ColumnMetadata): ListColumn {
  return {
    name: metadata.propertyPath,
    metadata,
    // Only the `order` of a handler can name a column of another type.
    kind: kindOf(metadata.type) ?? 'string',
    values: metadata.enum?.map(String),
    read: valueReader(metadata),
  }
}

/**
 * Converts the order of a handler to sort keys.
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
    const column = toListColumn(metadata)
    if (definition.hasCursors) rejectForCursors(column, list)
    return { column, isDescending }
  })
}

/**
 * Rejects a column after whose value a page cannot begin: floats are inexact, each engine sorts enums and
 * null differently, and a text may be too long for a link. MariaDB sorts by its first 1,024 bytes only.
 */
export function rejectForCursors({ name, kind, metadata }: ListColumn, list: string): void {
  const isUnsupported = ['enum', 'float', 'text'].includes(kind)
  if (!isUnsupported && !metadata.isNullable) return
  const reason = isUnsupported ? `has the kind ${kind}` : 'can be null'
  throw new DeclarationError(
    `${list} has cursor pages and sorts by "${name}", which ${reason}. Remove it from the order, or use pages: 'numbers'.`,
  )
}

/** Suggests the most similar name: ` Did you mean "title"?`. Returns an empty text if none is similar. */
export function suggest(name: string, names: Iterable<string>): string {
  const suggestion = nearest(name, names)
  return suggestion === undefined ? '' : ` Did you mean "${suggestion}"?`
}

/**
 * Whether JSON and XML don't show a property of a model as it is stored: `select: false`, or the rules of
 * class-transformer. A filter by such a column would reveal its value bit by bit.
 */
function isHidden({ target, columns }: EntityMetadata, property: string): boolean {
  const column = columns.find(({ propertyPath }) => propertyPath === property)
  return column?.isSelect === false || isHiddenProperty(target, property.split('.')[0] ?? property)
}
