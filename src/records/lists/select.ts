import { Brackets, In } from 'typeorm'
import type { EntityManager, EntityMetadata, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { DeclarationError } from '../../errors.js'
import { BoundedMap, memoizeByObject } from '../../common/memoize.js'
import { kindOf } from '../../models/attributes/attributes.js'
import { engineOf } from '../../database/engines/engines.js'
import { COUNT_ALIAS } from '../../database/engines/engine.js'
import { readAlternatives } from '../conditions.js'
import { addRelatedScopes } from '../scope.js'
import { selectTrashed } from '../trash.js'
import type { RecordWork } from '../work.js'
import { fastPath, read, run, type FastPath, type Row } from '../fast-path/fast-path.js'
import { ConditionWriter, type SqlCondition } from './conditions-sql.js'
import type { Cursor } from './query/cursor.js'
import type { ListColumn, ListDefinition, SortKey } from './definition/definition.js'
import type { ParsedQuery } from './query/parse.js'

/** The conditions of the handler, and the relations that it loads. */
export interface SelectOptions {
  /** Conditions that have been converted to the kinds of their columns. */
  where: object | undefined
  relations: object | undefined
  /** Whether only trashed records are selected. */
  trashed: boolean
  /** An order by more than columns, which replaces the order of the query. */
  order: object | undefined
}

/** A marker in the parameters of a query, which is replaced by the value with its index. */
class Marker {
  constructor(readonly index: number) {}
}

/** A query with its parameters: markers, and values that TypeORM has added. */
interface Statement {
  sql: string
  parameters: readonly unknown[]
}

/** A query selects all columns, ids, the number of rows, or what a function adds to its builder. */
type Output = 'records' | 'ids' | 'count' | ((builder: SelectQueryBuilder<ObjectLiteral>) => void)

const cachedStatements = memoizeByObject((_definition: ListDefinition) => new BoundedMap<Statement>(200))

/**
 * The records of a list that a query selects. TypeORM builds a query for each shape once: columns, operators,
 * number of values and order. Conditions that only TypeORM can write are built each time.
 */
export class ListSelection {
  private readonly tx: EntityManager
  private readonly metadata: EntityMetadata
  private readonly path: FastPath | undefined
  private readonly writer: ConditionWriter
  private readonly conditions: SqlCondition[]
  /** The conditions that TypeORM must write. A record must meet all of them. */
  private readonly wheres: object[]

  constructor(
    work: RecordWork,
    private readonly definition: ListDefinition,
    private readonly query: ParsedQuery,
    private readonly options: SelectOptions,
  ) {
    this.tx = work.tx
    this.metadata = definition.metadata
    this.path = options.relations ? undefined : fastPath(this.tx, this.metadata)
    this.writer = new ConditionWriter(engineOf(this.tx.dataSource), this.metadata.name)
    const comparisons = options.where ? readColumnConditions(this.metadata, options.where) : []
    this.conditions = (comparisons ?? []).map(([column, value]) => this.writer.compare(column, 'eq', [value]))
    this.wheres = comparisons || !options.where ? [] : [options.where]
    for (const { filter, operator, values, custom = {} } of query.conditions) {
      if (filter.column) this.conditions.push(this.writer.compare(filter.column, operator, values))
      else {
        const scoped = addRelatedScopes(work, this.metadata, custom)
        this.wheres.push(readAlternatives(this.metadata, scoped) ?? noAlternatives)
      }
    }
    for (const word of query.words) this.conditions.push(this.writer.writeSearch(definition.search, word))
  }

  async count(): Promise<number> {
    const [row] = await this.send('count', this.conditions, [])
    return Number(row?.[COUNT_ALIAS])
  }

  /** Reads the records after an offset, or after a position, or before it in reverse order. */
  async read(limit: number, offset: number, cursor?: Cursor): Promise<object[]> {
    const { order } = this.query
    const position = cursor ? [this.writer.writePosition(cursor, order)] : []
    const direction = cursor?.isBefore
      ? order.map(({ column, isDescending }) => ({ column, isDescending: !isDescending }))
      : order
    const output = this.path ? 'records' : 'ids'
    const rows = await this.send(output, [...this.conditions, ...position], direction, limit, offset)
    const { path } = this
    return path ? rows.map((row) => path.toRecord(row)) : this.find(rows.map(({ id }) => id))
  }

  /**
   * Builds the statement that selects all records in their order.
   *
   * @param select adds the columns to the builder
   */
  whole(select: (builder: SelectQueryBuilder<ObjectLiteral>) => void): { sql: string; values: unknown[] } {
    const { sql, parameters } = this.build(select, this.conditions, this.query.order)
    return { sql, values: fillIn(parameters, this.conditions) }
  }

  private send(
    output: Exclude<Output, Function>,
    conditions: readonly SqlCondition[],
    order: readonly SortKey[],
    limit?: number,
    offset = 0,
  ): Promise<Row[]> {
    const { sql: unlimited, parameters } = this.statementFor(output, conditions, order)
    const values = fillIn(parameters, conditions)
    // SQLite would plan a statement again for each limit that is a parameter.
    let sql = limit === undefined ? unlimited : `${unlimited} LIMIT ${Number(limit)}`
    if (offset > 0) {
      sql += ` OFFSET ${this.tx.dataSource.driver.createParameter('', values.length)}`
      values.push(offset)
    }
    // A query of columns alone may run before the transaction of the request begins. Others may call
    // functions that write.
    return this.path && this.wheres.length === 0 ? read(this.tx, sql, values) : run(this.tx, sql, values)
  }

  /** Lets TypeORM read the records of a model that isn't plain. Returns them in the order of the ids. */
  private async find(ids: unknown[]): Promise<object[]> {
    if (ids.length === 0) return []
    const { id } = this.definition
    const { relations, trashed } = this.options
    const where = { [id.name]: In(ids) }
    const records = trashed
      ? await selectTrashed(this.tx, this.metadata, where).getMany()
      : await this.tx.find(this.metadata.target, { where, relations })
    const byId = new Map(records.map((record) => [String(Reflect.get(record, id.name)), record]))
    return ids.flatMap((value) => byId.get(String(value)) ?? [])
  }

  private statementFor(output: Output, conditions: readonly SqlCondition[], order: readonly SortKey[]) {
    if (this.wheres.length > 0) return this.build(output, conditions, order)
    const statements = cachedStatements(this.definition)
    const keys = order.map(({ column, isDescending }) => `${column.name} ${isDescending}`)
    const shape = JSON.stringify([
      output,
      this.options.trashed,
      keys,
      this.options.order,
      conditions.map(({ key }) => key),
    ])
    let statement = statements.get(shape)
    if (!statement) statements.set(shape, (statement = this.build(output, conditions, order)))
    return statement
  }

  /** Lets TypeORM build a query with markers instead of values. */
  private build(output: Output, conditions: readonly SqlCondition[], order: readonly SortKey[]): Statement {
    const { name, target } = this.metadata
    const builder: SelectQueryBuilder<ObjectLiteral> = this.tx.createQueryBuilder(target, name)
    if (output === 'ids') builder.select(`${name}.${this.definition.id.name}`, 'id')
    if (typeof output === 'function') output(builder)
    let next = 0
    for (const { values, sql } of conditions) {
      const markers = values.map(() => new Marker(next++))
      const names = markers.map(({ index }) => `list_${index}`)
      builder.andWhere(`(${sql(names.map((parameter) => `:${parameter}`))})`)
      for (const marker of markers) builder.setParameter(`list_${marker.index}`, marker)
    }
    const { trashed } = this.options
    for (const where of this.wheres)
      addConditions(builder, this.metadata, where, this.definition.id.name, trashed)
    if (trashed)
      builder.withDeleted().andWhere(`${name}.${this.metadata.deleteDateColumn?.propertyPath} IS NOT NULL`)
    if (output === 'count') builder.select('COUNT(*)', COUNT_ALIAS).setOption('disable-global-order')
    else this.sort(builder, order)

    const [sql, parameters] = builder.getQueryAndParameters()
    const isToMany = builder.expressionMap.joinAttributes.some(
      ({ relation }) => relation && !relation.isManyToOne && !relation.isOneToOne,
    )
    if (isToMany) throw new DeclarationError(`${name} cannot be ordered by a relation to many records.`)
    return { sql, parameters }
  }

  private sort(builder: SelectQueryBuilder<ObjectLiteral>, order: readonly SortKey[]): void {
    const { order: handlerOrder } = this.options
    if (handlerOrder) return void builder.setFindOptions({ order: handlerOrder, loadEagerRelations: false })
    for (const { column, isDescending } of order)
      builder.addOrderBy(this.writer.writeSortKey(column), isDescending ? 'DESC' : 'ASC')
  }
}

/** Replaces the markers in the parameters of a statement. */
function fillIn(parameters: readonly unknown[], conditions: readonly SqlCondition[]): unknown[] {
  const inputs = conditions.flatMap(({ values }) => values)
  return parameters.map((item) => (item instanceof Marker ? inputs[item.index] : item))
}

/** Stands for conditions that no record meets. By identity: TypeORM finds all by an empty list. */
const noAlternatives: object[] = []

/** Reads conditions that compare columns with values; undefined for others, which TypeORM writes. */
function readColumnConditions(metadata: EntityMetadata, where: object): [ListColumn, unknown][] | undefined {
  if (Array.isArray(where)) return undefined
  const conditions: [ListColumn, unknown][] = []
  for (const [name, value] of Object.entries(where)) {
    const column = metadata.findColumnWithPropertyPathStrict(name)
    // The name of a relation also finds its key column, but its value can be a record.
    const isValue = ['string', 'number', 'boolean'].includes(typeof value) || value instanceof Date
    const kind = column && kindOf(column.type)
    if (!kind || column.relationMetadata?.propertyName === name || column.transformer || !isValue)
      return undefined
    conditions.push([{ name, metadata: column, kind, read: (input) => input }, value])
  }
  return conditions
}

/** Adds conditions of TypeORM in brackets, so that alternatives do not affect other conditions. */
function addConditions(
  builder: SelectQueryBuilder<ObjectLiteral>,
  metadata: EntityMetadata,
  where: object,
  id: string,
  trashed: boolean,
): void {
  const { name, target } = metadata
  if (where === noAlternatives) return void builder.andWhere('1 = 0')
  const isRelation = (path: string) => metadata.findRelationWithPropertyPath(path) !== undefined
  const hasRelations = [where].flat().some((conditions: object) => Object.keys(conditions).some(isRelation))
  if (!hasRelations) return void builder.andWhere(new Brackets((brackets) => brackets.where(where)))
  // A subquery, because a joined relation can have several rows for a record.
  const matching = builder
    .subQuery()
    .select(`matching.${id}`)
    .from(target, 'matching')
    .setFindOptions({ where, loadEagerRelations: false, withDeleted: trashed })
  builder.andWhere(`${name}.${id} IN ${matching.getQuery()}`)
}
