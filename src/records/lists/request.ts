import type { EntityMetadata, EntityTarget } from 'typeorm'
import { DeclarationError, type ValidationErrors } from '../../errors.js'
import type { Model } from '../../models/model.js'
import { readAlternatives } from '../conditions.js'
import { loadIdLists } from '../joins.js'
import { isObserved, noteLoaded } from '../participants.js'
import { loadRelations } from '../relations.js'
import { requireTrash } from '../trash.js'
import { addScopes } from '../scope.js'
import type { RecordWork } from '../work.js'
import type { Queryable } from './declaration.js'
import { memoizeByObject } from '../../common/memoize.js'
import { definitionOf } from './definition/compile.js'
import type { ListDefinition } from './definition/definition.js'
import { sortKeysOf } from './definition/list-model.js'
import { CursorPagination, readPagePosition, Pagination } from './pagination.js'
import type { Page, PageOptions, PagePosition, PageQuery, RecordPage } from './pagination.js'
import { encodeCursor } from './query/cursor.js'
import { ListQuery } from './query/list-query.js'
import { QueryParser, type ParsedQuery } from './query/parse.js'
import { ListSelection } from './select.js'

/** A route whose handler may have a list. */
export interface ListRoute {
  readonly handlerName: string
  /** The items in the path, the outermost first. */
  readonly parents?: readonly {
    readonly model: Function | undefined
    readonly param: string | undefined
    readonly property: string
  }[]
  readonly resource?:
    | {
        readonly model?: Function | undefined
        readonly queryable?: Queryable | undefined
        readonly parentKeys: readonly string[]
        readonly action?: string
        readonly many?: { readonly csv?: readonly string[] } | undefined
      }
    | undefined
}

/** The parts of a request's context that its list uses. */
export interface ListRequest {
  readonly query: PageQuery
  readonly querystring: string
  readonly params: Record<string, string>
  readonly route?: ListRoute
  /**
   * Whether the client prefers HTML, which shows errors.
   *
   * @param errors returns the errors with which a response of another format is rejected
   */
  prefersHtml(errors: () => ValidationErrors | undefined): boolean
  /** Returns the path and query of the list. */
  pageUrl?(position: Record<string, string | undefined>): string
}

/**
 * Reads one page of a list by the query of a request, newest first. A page beyond the last one is empty.
 *
 * @throws ValidationErrors (400) when a client that does not prefer HTML sends a query that the list does not
 *   allow
 * @throws DeclarationError when the list has a declaration for another model, or one that does not fit the
 *   model
 * @throws UnscopedRelation when the list joins a relation whose model has a scope
 */
export async function paginateRequest<T extends Model>(
  work: RecordWork,
  model: EntityTarget<T>,
  options: PageOptions<T>,
  request: ListRequest,
): Promise<Page<T>> {
  const { metadata, definition, parsed, query, selection } = selectRequested(work, model, options, request)
  const position = readPagePosition(request.query, options)
  const isCounted = options.total !== false && !definition.hasCursors && !query.errors
  if (!selection)
    return { records: [], pagination: new Pagination(position.page, position.size, 0, isCounted), query }
  const { records, pagination } = definition.hasCursors
    ? await readFromCursor(selection, parsed, position.size)
    : await readPage(selection, position, isCounted)
  // The records are of the model's class.
  const page = { records: records as T[], pagination, query }
  await loadIdLists(work, metadata, records)
  if (isObserved(metadata)) await noteLoaded(work, metadata, records)
  for (const { name: relation, limit, attributes } of parsed.includes)
    await loadRelations(work, page.records, [relation], { limit, attributes })
  return page
}

/** The records of a list that the query of a request selects. */
export interface RequestedList {
  metadata: EntityMetadata
  definition: ListDefinition
  parsed: ParsedQuery
  query: ListQuery
  /** Undefined if the query has errors, or if no record can meet the conditions of the handler. */
  selection: ListSelection | undefined
}

/**
 * Selects the records of a list by the query of a request.
 *
 * @param isWhole whether all pages are selected together: then nothing positions a page, and nothing is
 *   included
 * @throws ValidationErrors (400), DeclarationError, UnscopedRelation as `paginateRequest` does
 */
export function selectRequested<T extends Model>(
  work: RecordWork,
  model: EntityTarget<T>,
  options: PageOptions<T>,
  request: ListRequest,
  isWhole = false,
): RequestedList {
  const metadata = work.tx.dataSource.getMetadata(model)
  if (options.trashed) rejectRelations(metadata, options)
  const where = addScopes<T>(work, metadata, options.where, options.relations)
  const handler = request.route?.handlerName ?? 'A handler'
  const { queryable, name } = findDeclaration(handler, metadata, options.queryable, request.route)
  const paged = definitionOf(metadata, queryable, name)
  const definition = isWhole ? wholeDefinition(paged) : paged
  const isDeclared = queryable !== emptyQueryable
  // Without @Queryable, the order ends with the newest record first, whatever the direction of its last key.
  const order =
    isDeclared || !options.order
      ? options.order
      : { ...options.order, id: Object(options.order).id ?? 'DESC' }
  // Without @Queryable, the handler may also order by relations, which TypeORM supports.
  const isByColumns = isDeclared || !Object.values(order ?? {}).some((key) => typeof key === 'object')
  const parse = (ignoresUnknown: boolean): ParsedQuery =>
    new QueryParser(definition, {
      ignoresUnknown,
      // The cursors of a nested list are only valid below the same parent.
      list: definition.hasCursors ? `${handler} ${JSON.stringify(request.params)}` : '',
      order: order && isByColumns ? sortKeysOf(definition, order, handler) : undefined,
      translate: work.translate,
    }).parse(isDeclared ? request.querystring : '')
  const isHtml = isDeclared && !isWhole && request.prefersHtml(() => parse(false).errors.result)
  const parsed = parse(isHtml)
  const query = new ListQuery(paged, parsed, csvPathOf(metadata, request))
  if (query.errors && !isHtml) throw query.errors

  const conditions = where && readAlternatives(metadata, where)
  const isEmpty = query.errors !== undefined || (where && !conditions)
  const selection = isEmpty
    ? undefined
    : new ListSelection(work, definition, parsed, {
        where: conditions,
        relations: options.relations,
        trashed: options.trashed === true,
        order: isByColumns ? undefined : order,
      })
  return { metadata, definition, parsed, query, selection }
}

/** @throws DeclarationError when a list of trashed records joins relations, or when its model has no trash */
function rejectRelations(metadata: EntityMetadata, { relations }: { relations?: unknown }): void {
  requireTrash(metadata, '`trashed: true`')
  if (!relations) return
  throw new DeclarationError(
    `The list of trashed records of ${metadata.targetName} has \`relations\`, which would show trashed ones. Use ctx.load(records, ...).`,
  )
}

/** A list without pages. */
const wholeDefinition = memoizeByObject((definition: ListDefinition): ListDefinition => ({
  ...definition,
  hasCursors: false,
  includes: new Map(),
}))

/** The path of the CSV file of a list; undefined if it has none, or this is another list. */
function csvPathOf({ target }: EntityMetadata, request: ListRequest): string | undefined {
  const { many, action, model } = request.route?.resource ?? {}
  if (!many?.csv || action !== 'list' || model !== target) return undefined
  return `${request.pageUrl?.({}).split('?')[0]}.csv`
}

/** The declaration of a list that clients cannot query. */
const emptyQueryable: Queryable = {}

/** Finds the declaration of a list, and returns it with its name in messages. */
function findDeclaration(
  handler: string,
  { target, targetName }: EntityMetadata,
  option: Queryable | undefined,
  route: ListRoute | undefined,
) {
  if (option) return { queryable: option, name: `The option queryable of ${handler}` }
  const { queryable = emptyQueryable, model } = route?.resource ?? {}
  if (queryable === emptyQueryable || target === model) return { queryable, name: declarationName(handler) }
  throw new DeclarationError(
    `${handler} paginates ${targetName}, but its @Queryable is for ${model?.name}. Pass the option queryable for ${targetName} to ctx.paginate.`,
  )
}

export function declarationName(handler: string): string {
  return `@Queryable of ${handler}`
}

/** Reads a page by its number. Without the count, one more record shows whether there is a next page. */
async function readPage(
  selection: ListSelection,
  { page, size }: PagePosition,
  isCounted: boolean,
): Promise<RecordPage<object>> {
  const offset = (page - 1) * size
  if (isCounted) {
    const pagination = new Pagination(page, size, await selection.count())
    return { records: page > pagination.pages ? [] : await selection.read(size, offset), pagination }
  }
  // No engine accepts the offset of a page that is too far away.
  const records = Number.isSafeInteger(offset) ? await selection.read(size + 1, offset) : []
  const pagination = new Pagination(page, size, offset + records.length, false)
  return { records: records.slice(0, size), pagination }
}

/** Reads a page that begins or ends at a cursor. One more record shows whether it goes on there. */
async function readFromCursor(
  selection: ListSelection,
  { cursor, order, fingerprint }: ParsedQuery,
  size: number,
): Promise<RecordPage<object>> {
  const rows = await selection.read(size + 1, 0, cursor)
  const hasMore = rows.length > size
  const records = rows.slice(0, size)
  if (cursor?.isBefore) records.reverse()
  const [first, last] = [records[0], records.at(-1)]
  // In the other direction, the list goes on with the record of the cursor.
  const hasNext = cursor?.isBefore || hasMore
  const hasPrevious = cursor?.isBefore ? hasMore : cursor !== undefined
  const next = last && hasNext ? encodeCursor(fingerprint, order, last) : undefined
  const previous = first && hasPrevious ? encodeCursor(fingerprint, order, first) : undefined
  return { records, pagination: new CursorPagination(size, records.length, { next, previous }) }
}
