import { nestedListsOf } from '../extension.js'
import type { DeclaredRoute } from '../index.js'

/** The request in which the paths of files are written. */
export interface PathRequest {
  readonly route?: DeclaredRoute
  readonly params?: Readonly<Record<string, string | undefined>>
}

/** The parameter of a route that serves a file. */
const parameter = 'stored_file_id'

/** The routes that serve the files of records: `GET /items/{item_id}/files/{stored_file_id}`. */
export class FileRoutes {
  private readonly routes: readonly DeclaredRoute[]

  constructor(routes: readonly DeclaredRoute[]) {
    this.routes = routes.filter(
      ({ method, pattern, resource }) =>
        method === 'GET' && resource?.model !== undefined && pattern.params.includes(parameter),
    )
  }

  /**
   * The path of a file: of the current resource, else of the first one whose model it is, or a line of it, and whose parameters the record
   * or the request has; null without such a route.
   */
  pathOf(record: object, id: string, request?: PathRequest): string | null {
    const current = request?.route?.resource?.class
    const ofModel = this.routes.filter(
      ({ resource }) =>
        resource?.model && (record instanceof resource.model || isLineOf(record, resource.model)),
    )
    const ordered = [
      ...ofModel.filter(({ resource }) => resource?.class === current),
      ...ofModel.filter(({ resource }) => resource?.class !== current),
    ]
    for (const route of ordered) {
      const params = paramsOf(route, record, id, request)
      if (params) return route.url(params)
    }
    return null
  }
}

function isLineOf(record: object, model: Function): boolean {
  return nestedListsOf(model).some(({ line }) => record instanceof line)
}

/** The parameters of a route; undefined if neither the record nor the request has one of them. */
function paramsOf(
  { pattern, resource }: DeclaredRoute,
  record: object,
  id: string,
  request: PathRequest | undefined,
): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const name of pattern.params) {
    // A line has the key of its record.
    const isItem = resource?.model && record instanceof resource.model && name === resource.param
    const own = isItem ? (resource.itemKey ?? 'id') : name
    const value: unknown = name === parameter ? id : (Reflect.get(record, own) ?? request?.params?.[name])
    if (typeof value !== 'string' && typeof value !== 'number') return undefined
    params[name] = String(value)
  }
  return params
}
