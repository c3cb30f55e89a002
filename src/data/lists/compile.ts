import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { coerce } from '../coerce.js'
import { DeclarationError } from '../../errors.js'
import { memoizeByObject } from '../../common/memoize.js'
import { nearest } from '../../words/spelling.js'
import { kindOf } from '../attributes.js'
import { valueReader } from '../records/conditions.js'
import {
  CustomFilter,
  listParameters,
  RenamedFilter,
  type FilterConditions,
  type IncludeOptions,
  type Operator,
  type Queryable,
} from './declaration.js'
import { isHidden } from './hidden.js'
import { operatorsOf } from './operators.js'

import type { ColumnFilter, Include, ListColumn, ListDefinition, OwnFilter, SortKey } from './definition.js'

/**
 * Returns the checked definition of a list.
 *
 * @param list the list in messages: `@Queryable of PostsResource.list`
 * @throws DeclarationError when the declaration does not fit the model
 */
export function definitionOf(metadata: EntityMetadata, queryable: Queryable, list: string): ListDefinition {
  const known = definitionsOf(metadata)
  let definition = known.get(queryable)
  if (!definition) known.set(queryable, (definition = new Compiler(metadata, queryable, list).compile()))
  return definition
}

const definitionsOf = memoizeByObject((_metadata: EntityMetadata) => new WeakMap<Queryable, ListDefinition>())

/** The number of records that a relation to many includes. */
const includeLimit = 50

/** Checks a declaration, part by part. */
class Compiler {
  constructor(
    private readonly metadata: EntityMetadata,
    private readonly queryable: Queryable,
    private readonly list: string,
  ) {}

  compile(): ListDefinition {
    this.rejectUnknownOptions()
    const { search = [], params = [], pages } = this.queryable
    const filters = new Map(this.entries().map(([name, given]) => [name, this.filter(name, given)]))
    this.rejectReserved(params, 'params')
    const definition = {
      metadata: this.metadata,
      filters,
      sorts: this.sorts(),
      order: this.order(),
      search: search.map((name) => this.searchColumn(name)),
      includes: this.includes(),
      params,
      hasCursors: pages === 'cursor',
      id: listColumn(this.metadata.primaryColumns[0] ?? this.fail('has a model without a primary key.')),
    }
    if (definition.hasCursors)
      for (const column of definition.sorts.values()) rejectWithoutCursor(column, this.list)
    return definition
  }

  private rejectUnknownOptions(): void {
    const known = ['filter', 'sort', 'search', 'include', 'params', 'pages']
    const unknown = Object.keys(this.queryable).find((name) => !known.includes(name))
    if (unknown !== undefined) {
      this.fail(
        `has the unknown option "${unknown}".${didYouMean(unknown, known) || ` Known: ${known.join(', ')}.`}`,
      )
    }
    const { pages } = this.queryable
    if (pages !== undefined && pages !== 'numbers' && pages !== 'cursor')
      this.fail(`has pages: "${String(pages)}". Use "numbers" or "cursor".`)
  }

  private entries(): [string, unknown][] {
    const entries = Object.entries(this.queryable.filter ?? {}).filter(([, given]) => given !== undefined)
    this.rejectReserved(
      entries.map(([name]) => name),
      'filter',
    )
    return entries
  }

  private rejectReserved(names: readonly string[], option: 'filter' | 'params'): void {
    for (const name of names) {
      if (!/^[\p{L}_][\p{L}\p{N}_-]*$/u.test(name) && !(option === 'params' && name !== '')) {
        this.fail(
          `has the filter "${name}", which cannot be a parameter. Use letters, digits and underscores.`,
        )
      }
      if (!listParameters.some((parameter) => parameter === name)) continue
      this.fail(
        option === 'filter'
          ? `filters by "${name}", which is a parameter of every list. Rename the filter: ${name}_key: as('${name}', ['eq']).`
          : `has "${name}" in params, which is a parameter of every list. Remove it, or rename it.`,
      )
    }
  }

  private filter(name: string, given: unknown): ColumnFilter | OwnFilter {
    if (given instanceof CustomFilter) return this.ownFilter(name, given)
    const [column, operators] =
      given instanceof RenamedFilter ? [given.column, given.operators] : [name, given as readonly Operator[]]
    return this.columnFilter(name, this.column(column, 'filters by'), operators)
  }

  private columnFilter(name: string, column: ListColumn, operators: readonly Operator[]): ColumnFilter {
    const allowed = operatorsOf[column.kind]
    const use =
      allowed.length > 0 ? `Use some of ${allowed.join(', ')}.` : 'Remove it, or declare it by filter().'
    if (!Array.isArray(operators) || operators.length === 0)
      this.fail(`does not list operators of the filter "${name}". ${use}`)
    const wrong = operators.find((operator) => !allowed.includes(operator))
    if (wrong !== undefined)
      this.fail(`has the operator "${String(wrong)}" of "${name}", which has the kind ${column.kind}. ${use}`)
    const bare = (['in', 'eq'] as const).find((operator) => operators.includes(operator))
    return { name, column, operators, bare }
  }

  private ownFilter(name: string, { kind, words, toConditions }: CustomFilter): OwnFilter {
    if (operatorsOf[kind] === undefined || kind === 'json' || (kind === 'enum' && !words?.length)) {
      this.fail(
        `has the filter "${name}" of the unknown kind "${kind}". Use a kind like 'int', or a list of words.`,
      )
    }
    const values = words && [...words]
    const attribute = { name, kind, nullable: false, ...(values && { values }) }
    return {
      name,
      kind,
      values,
      read: (value) => coerce(value, attribute),
      // The value is of the kind that the function expects.
      toConditions: toConditions as (value: unknown) => FilterConditions<object>,
    }
  }

  private sorts(): Map<string, ListColumn> {
    const names = this.queryable.sort ?? []
    const later = names.findIndex((name, index) => index > 0 && name.startsWith('-'))
    if (later > 0) {
      this.fail(
        `has a minus before "${names[later]?.slice(1)}", which is not the first key of sort. Remove the minus: clients sort in both directions.`,
      )
    }
    return new Map(names.map((name) => name.replace('-', '')).map((name) => [name, this.sortColumn(name)]))
  }

  private order(): SortKey[] {
    const [first] = this.queryable.sort ?? []
    return first?.startsWith('-') ? [{ column: this.sortColumn(first.slice(1)), isDescending: true }] : []
  }

  private sortColumn(name: string): ListColumn {
    const column = this.column(name, 'sorts by')
    if (operatorsOf[column.kind].length > 0) return column
    return this.fail(
      `sorts by "${name}", which has the kind ${column.kind}. Remove it: engines cannot sort it.`,
    )
  }

  private searchColumn(name: string): ListColumn {
    const column = this.column(name, 'searches in')
    if (operatorsOf[column.kind].includes('contains')) return column
    return this.fail(
      `searches in "${name}", which has the kind ${column.kind}. Remove it: only columns of text can be searched.`,
    )
  }

  private includes(): Map<string, Include> {
    const { include = [] } = this.queryable
    const entries: [string, IncludeOptions | true | undefined][] = Array.isArray(include)
      ? include.map((name) => [name, true])
      : Object.entries(include)
    return new Map(entries.map(([name, options]) => [name, this.include(name, options)]))
  }

  private include(name: string, options: IncludeOptions | true | undefined): Include {
    const relation = this.metadata.relations.find(({ propertyPath }) => propertyPath === name)
    if (!relation) {
      const names = this.metadata.relations.map(({ propertyPath }) => propertyPath)
      return this.fail(
        `includes "${name}", which isn't a relation of ${this.metadata.targetName}.${didYouMean(name, names) || ' Declare the relation, or remove it.'}`,
      )
    }
    this.rejectHidden(name, 'includes')
    const limit = options === true ? includeLimit : (options?.limit ?? includeLimit)
    if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
      this.fail(`includes "${name}" with the limit ${limit}. Use a whole number from 1 to 1000.`)
    return { name, limit: isToMany(relation) ? limit : undefined }
  }

  private column(name: string, verb: string): ListColumn {
    const { columns, relations, targetName } = this.metadata
    const found = columns.find(({ propertyPath, isVirtual }) => propertyPath === name && !isVirtual)
    if (!found) {
      const relation = relations.find(({ propertyPath }) => propertyPath === name)
      const key = relation?.joinColumns[0]?.propertyName
      const near =
        key === undefined
          ? didYouMean(
              name,
              columns.map(({ propertyPath }) => propertyPath),
            )
          : ''
      const advice =
        key === undefined ? near || ' Correct the name, or declare it by filter().' : ` Use its key "${key}".`
      return this.fail(`${verb} "${name}", which isn't a column of ${targetName}.${advice}`)
    }
    this.rejectHidden(name, verb)
    const kind = found.isArray ? undefined : kindOf(found.type)
    if (kind === undefined || found.transformer) {
      const why = found.transformer ? 'has a transformer' : `has the type ${String(found.type)}`
      this.fail(`${verb} "${name}", which ${why}. Remove it, or declare a filter of your own by filter().`)
    }
    return listColumn(found)
  }

  private rejectHidden(name: string, verb: string): void {
    if (!isHidden(this.metadata, name)) return
    this.fail(
      `${verb} "${name}", which is hidden, so that clients could find out its value. Remove it here, or show it in JSON and XML.`,
    )
  }

  private fail(problem: string): never {
    throw new DeclarationError(`${this.list} ${problem}`)
  }
}

function isToMany({ isOneToMany, isManyToMany }: RelationMetadata): boolean {
  return isOneToMany || isManyToMany
}

function listColumn(metadata: ColumnMetadata): ListColumn {
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
function rejectWithoutCursor({ name, kind, metadata }: ListColumn, list: string): void {
  const why =
    kind === 'enum' || kind === 'float'
      ? `has the kind ${kind}`
      : metadata.isNullable
        ? 'can be null'
        : undefined
  if (why === undefined) return
  throw new DeclarationError(
    `${list} has cursor pages and sorts by "${name}", which ${why}. Remove it from the order, or use pages: 'numbers'.`,
  )
}

/** ` Did you mean "title"?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const near = nearest(name, known)
  return near === undefined ? '' : ` Did you mean "${near}"?`
}
