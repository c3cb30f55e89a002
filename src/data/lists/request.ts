import type { EntityMetadata, EntityTarget, FindOptionsRelations, ObjectLiteral } from 'typeorm'
import { memoizeByObject } from '../../common/memoize.js'
import { DeclarationError, type ValidationErrors } from '../../errors.js'
import type { Model } from '../model.js'
import { readAlternatives } from '../records/conditions.js'
import {
  CursorPagination,
  emptyPage,
  pagePosition,
  paginate,
  readPage,
  type Page,
  type PageOptions,
  type PagePosition,
  type PageQuery,
  type RecordPage,
} from './pagination.js'
import { loadLinks } from '../records/links.js'
import { loadRelations } from '../records/relations.js'
import { scopedWhere } from '../records/scope.js'
import type { RecordWork } from '../records/work.js'
import { encodeCursor } from './query/cursor.js'
import type { Queryable } from './declaration.js'
import { definitionOf } from './definition/compile.js'
import type { ListDefinition } from './definition/definition.js'
import { ListQuery } from './query/list-query.js'
import { sortKeysOf } from './definition/order.js'
import { parseQuery, type ParsedQuery } from './query/parse.js'
import { ListSelection } from './select.js'

/** The parts of a request's context that its list uses. */
export interface ListRequest {
  readonly query: PageQuery
  readonly querystring: string
  readonly params: Record<string, string>
  readonly route?: {
    readonly handlerName: string
    readonly resource?:
      | { readonly model?: Function | undefined; readonly queryable?: Queryable | undefined }
      | undefined
  }
  /**
   * Whether the client prefers HTML, which shows errors.
   *
   * @param errors returns the errors with which a response of another format is rejected
   */
  prefersHtml(errors: () => ValidationErrors | undefined): boolean
}

/**
 * Reads one page of a list by the query of a request.
 *
 * @throws ValidationErrors (400) when a client that does not prefer HTML sends a query that the list does not allow
 * @throws DeclarationError when the list has a declaration for another model, or one that does not fit the model
 */
export async function paginateRequest<T extends Model>(
  work: RecordWork,
  model: EntityTarget<T>,
  given: PageOptions<T>,
  request: ListRequest,
): Promise<Page<T>> {
  const metadata = work.tx.dataSource.getMetadata(model)
  const where = scopedWhere<T>(work, metadata, given.where, given.relations)
  const options = { ...given, ...(where && { where }) }
  const definition = definitionFor(metadata, options, request)
  if (!definition) {
    const { records, pagination } = await paginate(work, model, request.query, options)
    return { records, pagination, query: withoutDeclaration(metadata) }
  }
  const order = options.order && sortKeysOf(definition, options.order, listName(request))
  const parse = (ignoresUnknown: boolean): ParsedQuery =>
    parseQuery(definition, request.querystring, {
      ignoresUnknown,
      list: `${listName(request)} ${JSON.stringify(request.params)}`,
      order,
      translate: work.translate,
    })
  const isHtml = request.prefersHtml(() => parse(false).errors.found)
  const parsed = parse(isHtml)
  const query = new ListQuery(definition, parsed)
  const position = pagePosition(request.query, options)
  if (query.errors) {
    if (!isHtml) throw query.errors
    return { ...emptyPage<T>(position, false), query }
  }
  const page = await readRecords(work, definition, parsed, position, options)
  await loadLinks(work, metadata, page.records)
  for (const { name, limit, attributes } of parsed.includes)
    await loadRelations(work, page.records, [name], { limit, attributes })
  return { ...page, query }
}

/** The definition of a list; undefined if clients cannot request anything of it. */
function definitionFor<T extends Model>(
  metadata: EntityMetadata,
  { queryable }: PageOptions<T>,
  { route }: ListRequest,
): ListDefinition | undefined {
  const list = listName({ route })
  if (queryable) return definitionOf(metadata, queryable, `The option queryable of ${list}`)
  const { queryable: declared, model } = route?.resource ?? {}
  if (!declared) return undefined
  if (metadata.target === model) return definitionOf(metadata, declared, declarationName(list))
  throw new DeclarationError(
    `${list} paginates ${metadata.targetName}, but its @Queryable is for ${model?.name}. Pass the option queryable for ${metadata.targetName} to ctx.paginate.`,
  )
}

function listName({ route }: Pick<ListRequest, 'route'>): string {
  return route?.handlerName ?? 'A handler'
}

/** The name of a declaration in messages. */
export function declarationName(handler: string): string {
  return `@Queryable of ${handler}`
}

const nothing: Queryable = {}

/** The query of a list that clients cannot filter. */
const withoutDeclaration = memoizeByObject((metadata: EntityMetadata) => {
  const definition = definitionOf(metadata, nothing, 'A list')
  return new ListQuery(definition, parseQuery(definition, '', { ignoresUnknown: true, list: '' }))
})

async function readRecords<T extends Model>(
  work: RecordWork,
  definition: ListDefinition,
  parsed: ParsedQuery,
  position: PagePosition,
  { where, relations, total: isCounted = true }: PageOptions<T>,
): Promise<RecordPage<T>> {
  const { metadata, hasCursors } = definition
  const readable = where && readAlternatives(metadata, where)
  const isCountedList = isCounted && !hasCursors
  if (where && !readable) return emptyPage(position, isCountedList)
  const selection = new ListSelection(work, definition, parsed, {
    where: readable,
    relations: relations as FindOptionsRelations<ObjectLiteral> | undefined,
  })
  // The records are of the model's class.
  const page = hasCursors
    ? await readFromCursor(selection, parsed, position.size)
    : await readPage(selection, position, isCountedList)
  return page as RecordPage<T>
}

/** Reads one more record than the page has, which shows whether there are more in this direction. */
async function readFromCursor(
  selection: ListSelection,
  { cursor, order, binding }: ParsedQuery,
  size: number,
): Promise<RecordPage<object>> {
  const found = await selection.readFrom(cursor, size + 1)
  const hasMore = found.length > size
  const records = found.slice(0, size)
  if (cursor?.isBefore) records.reverse()
  const [first, last] = [records[0], records.at(-1)]
  const hasNext = cursor?.isBefore ? true : hasMore
  const hasPrevious = cursor?.isBefore ? hasMore : cursor !== undefined
  return {
    records,
    pagination: new CursorPagination(size, records.length, {
      next: last && hasNext ? encodeCursor(binding, order, last) : undefined,
      previous: first && hasPrevious ? encodeCursor(binding, order, first) : undefined,
    }),
  }
}
