import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { DeclarationError } from '../../../errors.js'
import { nearest } from '../../../naming/spelling.js'
import { kindOf } from '../../attributes/attributes.js'
import { isHiddenProperty } from '../../attributes/transform-metadata.js'
import { valueReader } from '../../records/conditions.js'
import type { ListColumn } from './definition.js'

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
    if (!found)
      return this.fail(
        `${verb} "${name}", which isn't a column of ${targetName}.${this.adviceForColumn(name)}`,
      )
    return found
  }

  private adviceForColumn(name: string): string {
    const { columns, relations } = this.metadata
    const relation = relations.find(({ propertyPath }) => propertyPath === name)
    const key = relation?.joinColumns[0]?.propertyName
    if (key !== undefined) return ` Use its key "${key}".`
    const names = columns.map(({ propertyPath }) => propertyPath)
    return didYouMean(name, names) || ' Correct the name, or declare it by filter().'
  }

  relation(name: string): RelationMetadata {
    const { relations, targetName } = this.metadata
    const relation = relations.find(({ propertyPath }) => propertyPath === name)
    if (!relation) {
      const names = relations.map(({ propertyPath }) => propertyPath)
      const advice = didYouMean(name, names) || ' Declare the relation, or remove it.'
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
