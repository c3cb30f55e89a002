import type { Engine } from '../../database/engines/engine.js'
import type { Cursor } from './query/cursor.js'
import type { ListColumn, SortKey } from './definition/definition.js'
import type { Operator } from './declaration.js'

/** A condition in SQL, with its values. Two conditions of a list with the same key have the same SQL. */
export interface SqlCondition {
  key: string
  values: readonly unknown[]
  /** Writes the SQL, which only an uncached query needs. `places` are the placeholders of the values. */
  sql(places: readonly string[]): string
}

/** Writes the conditions of a query as SQL of an engine. */
export class ConditionWriter {
  /** @param alias the alias of the table */
  constructor(
    private readonly engine: Engine,
    private readonly alias: string,
  ) {}

  compare(column: ListColumn, operator: Operator, values: readonly unknown[]): SqlCondition {
    const key = `${column.name} ${operator} ${values.length}`
    const name = () => this.nameOf(column)
    // The value of `null` is part of the SQL, so it needs no parameter.
    if (operator === 'null') {
      const is = values[0] === true ? 'IS' : 'IS NOT'
      return { key: `${key} ${is}`, values: [], sql: () => `${name()} ${is} NULL` }
    }
    const stored = values.map((value) => this.toStored(column, value))
    switch (operator) {
      case 'prefix':
      case 'contains': {
        const { parameters, sql } = this.engine[operator]
        return { key, values: parameters(String(stored[0])), sql: (places) => sql(name(), places) }
      }
      case 'in':
        return { key, values: stored, sql: (places) => `${name()} IN (${places.join(', ')})` }
      case 'not':
        return { key, values: stored, sql: ([place]) => `(${name()} <> ${place} OR ${name()} IS NULL)` }
      default:
        return { key, values: stored, sql: ([place]) => `${name()} ${SIGNS[operator]} ${place}` }
    }
  }

  /** Writes the condition that one of the columns contains a word. */
  writeSearch(columns: readonly ListColumn[], word: string): SqlCondition {
    const { parameters, sql } = this.engine.contains
    const size = parameters(word).length
    return {
      key: 'word',
      values: columns.flatMap(() => parameters(word)),
      sql: (places) =>
        columns
          .map((column, index) => sql(this.nameOf(column), places.slice(index * size, (index + 1) * size)))
          .join(' OR '),
    }
  }

  /** Selects the rows after or before a position. Its key lacks the order, which the cache adds. */
  writePosition({ values, isBefore }: Cursor, order: readonly SortKey[]): SqlCondition {
    const keys = order.map(({ column, isDescending }, index): PositionKey => ({
      column: this.nameOf(column),
      value: this.toStored(column, values[index]),
      sign: isDescending === isBefore ? '>' : '<',
    }))
    const isUniform = keys.every(({ sign }) => sign === keys[0]?.sign)
    const condition = this.engine.comparesRows && isUniform ? compareRows(keys) : compareKeys(keys)
    return { ...condition, key: `position ${isBefore}` }
  }

  /** Writes the expression by which a column is sorted. */
  writeSortKey(column: ListColumn): string {
    const sql = this.nameOf(column)
    return (column.values && this.engine.enumOrder?.(sql, column.values)) ?? sql
  }

  private nameOf({ metadata }: ListColumn): string {
    const { driver } = metadata.entityMetadata.dataSource
    return `${driver.escape(this.alias)}.${driver.escape(metadata.databaseName)}`
  }

  private toStored({ metadata }: ListColumn, value: unknown): unknown {
    if (this.engine.prepareComparison) return this.engine.prepareComparison(metadata, value)
    return metadata.entityMetadata.dataSource.driver.preparePersistentValue(value, metadata)
  }
}

const SIGNS = { eq: '=', lt: '<', lte: '<=', gt: '>', gte: '>=' }

/** A column that is compared with the value of a position. */
interface PositionKey {
  column: string
  value: unknown
  sign: '<' | '>'
}

function compareRows(keys: readonly PositionKey[]): Omit<SqlCondition, 'key'> {
  const columns = keys.map(({ column }) => column).join(', ')
  return {
    values: keys.map(({ value }) => value),
    sql: (places) => `(${columns}) ${keys[0]?.sign} (${places.join(', ')})`,
  }
}

/** `a <= ? AND (a < ? OR (a = ? AND id < ?))`: the first comparison lets an index find the beginning. */
function compareKeys([first, ...others]: readonly PositionKey[]): Omit<SqlCondition, 'key'> {
  if (!first) return { values: [], sql: () => '1 = 1' }
  const { column, value, sign } = first
  if (others.length === 0) return { values: [value], sql: ([place]) => `${column} ${sign} ${place}` }
  const rest = compareKeys(others)
  return {
    values: [value, value, value, ...rest.values],
    sql: ([start, beyond, equal, ...places]) =>
      `(${column} ${sign}= ${start} AND (${column} ${sign} ${beyond} OR (${column} = ${equal} AND ${rest.sql(places)})))`,
  }
}
