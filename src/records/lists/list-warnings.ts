import type { DataSource, QueryRunner } from 'typeorm'
import type { Logger } from 'pino'
import type { Index } from '../../database/engines/engine.js'
import { engineOf } from '../../database/engines/engines.js'
import { definitionOf } from './definition/compile.js'
import type { ListColumn, ListDefinition } from './definition/definition.js'
import { declarationName, type ListRoute } from './request.js'

/** A list that clients can query. */
interface DeclaredList {
  /** For example `PostsResource.list`. */
  name: string
  /** The foreign keys of the parents, which have one value in the list. */
  parentKeys: readonly string[]
  definition: ListDefinition
}

/**
 * Returns the lists of an application's routes.
 *
 * @throws DeclarationError when a declaration does not fit its model
 */
export function declaredLists(dataSource: DataSource, routes: readonly ListRoute[]): DeclaredList[] {
  return routes.flatMap(({ handlerName: name, resource }) => {
    const { model, queryable, parentKeys = [] } = resource ?? {}
    if (!model || !queryable) return []
    const metadata = dataSource.getMetadata(model)
    return { name, parentKeys, definition: definitionOf(metadata, queryable, declarationName(name)) }
  })
}

/** Logs the first problem of each list. */
export async function logListWarnings(
  dataSource: DataSource,
  lists: readonly DeclaredList[],
  logger: Logger,
): Promise<void> {
  for (const { list, problems } of await findListWarnings(dataSource, lists)) {
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
    logger.warn(`${list}: ${problems[0]}${more} \`kit db check\` lists all.`)
  }
}

/**
 * Finds the lists that lack an index for a column that they sort by, or filter by `eq` or `prefix`, and
 * cursor pages whose datetimes do not have milliseconds. Each problem is a sentence.
 */
export async function findListWarnings(
  dataSource: DataSource,
  lists: readonly DeclaredList[],
): Promise<{ list: string; problems: string[] }[]> {
  const runner = dataSource.createQueryRunner()
  try {
    const warnings = []
    for (const list of lists) {
      const problems = await findProblems(runner, list)
      if (problems.length > 0) warnings.push({ list: list.name, problems })
    }
    return warnings
  } finally {
    await runner.release()
  }
}

async function findProblems(runner: QueryRunner, list: DeclaredList): Promise<string[]> {
  const { tableName } = list.definition.metadata
  const indexes = await engineOf(runner.dataSource).findIndexes(runner, tableName)
  const missing = findNeededIndexes(runner, list).filter(
    (need) => !indexes.some((index) => isSuitable(index, need, list)),
  )
  return [...missing.map((need) => describeNeed(tableName, need)), ...(await findImprecise(runner, list))]
}

interface NeededIndex {
  column: string
  use: 'sort' | 'eq' | 'prefix'
}

function findNeededIndexes(runner: QueryRunner, { definition }: DeclaredList): NeededIndex[] {
  const { enumOrder } = engineOf(runner.dataSource)
  // `enumOrder` sorts by an expression, which no index of the column contains.
  const isSortedByIndex = ({ kind }: ListColumn) => kind !== 'enum' || enumOrder === undefined
  const toNeed = ({ metadata }: ListColumn, use: NeededIndex['use']) => ({
    column: metadata.databaseName,
    use,
  })
  const filters = [...definition.filters.values()].flatMap(({ operators, column }) =>
    (['eq', 'prefix'] as const).flatMap((use) =>
      // An index hardly helps to find one of two values.
      column && column.kind !== 'bool' && operators.includes(use) ? toNeed(column, use) : [],
    ),
  )
  const sorts = [...definition.sorts.values()].filter(isSortedByIndex)
  return [...filters, ...sorts.map((column) => toNeed(column, 'sort'))]
}

/** Whether an index begins with a column, or with keys that have one value in a list, and then the column. */
function isSuitable(
  { columns, findsPrefixes, sorts }: Index,
  { column, use }: NeededIndex,
  { parentKeys, definition: { metadata } }: DeclaredList,
) {
  // A policy may limit the list to the records of an owner.
  const owners = metadata.foreignKeys.flatMap((key) => key.columnNames)
  const [first] = columns.filter((name) => name === column || ![...parentKeys, ...owners].includes(name))
  if (first !== column) return false
  return use === 'prefix' ? findsPrefixes : use === 'sort' ? sorts : true
}

function describeNeed(table: string, { column, use }: NeededIndex): string {
  // The id ends every order.
  const columns = use === 'sort' ? `'${column}', 'id'` : `'${column}'`
  const statement =
    use === 'prefix'
      ? `prefixIndex(runner, '${table}', '${column}')`
      : `runner.createIndex('${table}', new TableIndex({ columnNames: [${columns}] }))`
  const verb = { sort: 'sorts by', eq: 'filters by', prefix: 'finds the beginning of' }[use]
  return `It ${verb} ${table}.${column}, which has no index for that. Add one in a migration: await ${statement}.`
}

/** Describes datetimes without the three digits of cursors. With more, rows between pages would be lost. */
async function findImprecise(runner: QueryRunner, { definition }: DeclaredList): Promise<string[]> {
  const { datetimeDigits } = engineOf(runner.dataSource)
  if (!definition.hasCursors || !datetimeDigits) return []
  const problems: string[] = []
  for (const { kind, metadata } of definition.sorts.values()) {
    if (kind !== 'datetime') continue
    const { tableName } = definition.metadata
    const digits = await datetimeDigits(runner, tableName, metadata.databaseName)
    if (digits !== undefined && digits !== 3)
      problems.push(
        `Its cursors have milliseconds, but ${tableName}.${metadata.databaseName} has ${digits} digits after the seconds. ` +
          'Change the precision of the column to 3.',
      )
  }
  return problems
}
