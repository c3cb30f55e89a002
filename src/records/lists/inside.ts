import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { unreadable } from '../../models/attributes/coerce.js'
import type { Model } from '../../models/model.js'
import { valueReader } from '../conditions.js'
import { targetOf } from '../joins.js'
import { conditionOn, readAnchor, References, selectLocked } from '../references.js'
import { combineAlternatives, noRecords } from '../scope.js'
import { chainsOf, commonOf, enclosuresOf, isFree, membersOf, waysOf, type Common } from '../within.js'
import type { Conditions, RecordWork } from '../work.js'
import type { ListRoute } from './request.js'

/** The parts of a request that tell which records are in its path. */
export interface PathRequest {
  readonly params: Record<string, string>
  readonly route?: ListRoute
  /** The ids of the records in the path that the request has found. */
  foundInPath(model: Function): readonly string[]
}

/** A record in the path of a request. */
interface RecordInPath {
  model: Function
  /** The property whose value is in the path: `id`, or `slug`. */
  property: string
  value: unknown
}

/** The conditions of the records of a model to which a record can refer; undefined if there are none. */
export async function conditionsFor(
  work: RecordWork,
  target: EntityMetadata,
  record: Model,
): Promise<Conditions | undefined> {
  const metadata = work.tx.dataSource.getMetadata(record.constructor)
  const common = commonOf(waysOf(metadata), target)
  if (common.length === 0) return undefined
  const references = new References(work, metadata, record, true)
  const { where, missing } = await references.conditionsOf(common)
  return missing ? noRecords : where
}

/** The conditions of the records of a model that are in those of a path; undefined if there are none. */
export async function conditionsInPath(
  work: RecordWork,
  target: EntityMetadata,
  request: PathRequest,
): Promise<Conditions | undefined> {
  // The records in the path, and those that contain them, by their tables.
  const known = new Set<string>()
  let where: Conditions | undefined
  for (const { model, property, value } of recordsInPath(work, request)) {
    const metadata = work.tx.dataSource.getMetadata(model)
    const column = metadata.findColumnWithPropertyPath(property)
    const ways = waysOf(metadata)
    for (const { own, theirs } of column ? commonOf(ways, target) : []) {
      if (!column || known.has(own.model.tablePath)) continue
      const end = await readEnd(work, column, valueReader(column)(value), { own, theirs })
      if (end === undefined || end === null) return noRecords
      where = combineAlternatives(where ?? {}, conditionOn(theirs, end))
    }
    for (const way of ways) known.add(way.model.tablePath)
  }
  return where ?? visibleMembers(target, request)
}

/** Where no team is in the path, a form offers the users who are in teams of the request's user. */
function visibleMembers(target: EntityMetadata, request: object): Conditions | undefined {
  const { members } = chainsOf(target).find((chain) => chain.members) ?? {}
  const ids = members?.visible(request)
  return members && ids ? membersOf(members, ids) : undefined
}

/** The value of the last key of a way, or the conditions of its record; undefined if none has them. */
async function readEnd(
  work: RecordWork,
  column: ColumnMetadata,
  value: unknown,
  { own, theirs }: Common,
): Promise<unknown> {
  if (value === unreadable || value === undefined) return undefined
  if (own.path.length > 0) return readAnchor(work, column.entityMetadata, column, value, own.path)
  const last = theirs.path.at(-1)
  const referred = last ? targetOf(last.key) : column.entityMetadata.primaryColumns[0]
  if (referred === column) return value
  const conditions = { [column.propertyName]: value }
  if (!theirs.members || !referred) return conditions
  const [team] = await selectLocked(work.tx, column.entityMetadata, [referred], conditions, undefined)
  return team?.[referred.databaseName]
}

/** The records in the path of a request, the outermost first; none if they may refer to anything. */
function recordsInPath({ tx }: RecordWork, request: PathRequest): RecordInPath[] {
  const { params, route } = request
  const parents = (route?.parents ?? []).flatMap(({ model, param, property }): RecordInPath[] => {
    if (!model) return []
    if (param !== undefined) return [{ model, property, value: params[param] }]
    // The path of a singular resource has no id, but the handler may have found its record.
    return request.foundInPath(model).map((value) => ({ model, property: 'id', value }))
  })
  const { model } = route?.resource ?? {}
  if (!model || !tx.dataSource.hasMetadata(model)) return parents
  if (isFree(model)) return []
  // The parameter of a group, or of a parent without a model.
  const others = enclosuresOf(tx.dataSource.getMetadata(model)).flatMap(({ key }): RecordInPath[] => {
    const { propertyName: property, entityMetadata } = targetOf(key)
    const value = params[key.propertyName]
    const isKnown = value === undefined || parents.some((parent) => parent.model === entityMetadata.target)
    const { target } = entityMetadata
    return isKnown || typeof target !== 'function' ? [] : [{ model: target, property, value }]
  })
  return [...parents, ...others]
}
