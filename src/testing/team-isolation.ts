import assert from 'node:assert'
import type { EntityMetadata } from 'typeorm'
import { FactoryError } from '../errors.js'
import { newId } from '../models/ids.js'
import { filesOf, nestedListsOf, relationIdsOf } from '../models/attributes/attributes.js'
import type { Model } from '../models/model.js'
import { CustomFilter } from '../records/lists/declaration.js'
import { conditionOn } from '../records/references.js'
import { destroyRecord } from '../records/save.js'
import { chainsOf, enclosuresOf } from '../records/within.js'
import { unscopedWork } from '../records/work.js'
import type { DeclaredRoute } from '../routing/declared-route.js'
import type { Client, ClientResponse, RequestOptions } from './client.js'
import { isUnique, needsFile } from './factory.js'
import { membersOf, type Mocha } from './policies.js'
import { sampleFile } from './sample-file.js'

/**
 * Declares one test for each route below a team. A member of another team must get 404 there, an id of another team in the path, in a
 * reference, in a filter or in a list of ids must have the same response as an unknown one, a value that another team has must be free,
 * and no response may contain a text of another team. A route that needs more than its resource says is skipped, so that the
 * report names it.
 *
 * @example
 * describe('Teams', () => {
 *   isolate()
 *   describeIsolation(client)
 * })
 */
export function describeIsolation(client: Client): void {
  const { describe, it, before } = globalThis as unknown as Mocha
  describe('The isolation of teams', () => {
    let walk: Walk | undefined
    before(async () => {
      walk = await Walk.begin(client)
    })
    for (const route of routesOf(client))
      it(`holds in ${route.method} ${route.path}`, async function () {
        const visited = await walk?.visit(route).catch((error: unknown) => {
          // There are not enough values, for example because an enum is unique.
          if (!(error instanceof FactoryError)) throw error
        })
        const { leaks, isFilled } = visited ?? { leaks: [], isFilled: false }
        assert.deepEqual(leaks, [])
        if (!isFilled) this.skip()
      })
  })
}

/** The roles and the team that the policies of an application read. */
function membersIn({ app }: Client) {
  const policies = app.routes.flatMap(({ resource }) => resource?.policies ?? [])
  const [members] = policies.flatMap(({ policy }) => membersOf(policy) ?? [])
  if (members) return members
  throw new Error('No policy of the application extends RolePolicy, so it has no teams to isolate.')
}

function routesOf(client: Client): DeclaredRoute[] {
  const { team } = membersIn(client)
  const known = placesByParam(client)
  return client.app.routes.filter(
    (route) => route.isWritten && placesOf(route, known).some(({ model }) => model === team),
  )
}

/** The records to which the parameters of resources lead. A route without a resource has parameters of the same names. */
function placesByParam({ app }: Client): ReadonlyMap<string, Place> {
  const places = app.routes.flatMap((route) => placesOf(route)).filter(({ property }) => property === 'id')
  return new Map(places.map((place) => [place.param, place]))
}

/** A parameter of a path, and the record whose property it has. */
interface Place {
  param: string
  property: string
  model: new () => Model
}

/**
 * The parameters of a route that belong to records, and to the file of a record.
 *
 * @param known the records of parameters, for a route without a resource
 */
function placesOf(
  { parents, pattern, resource }: DeclaredRoute,
  known?: ReadonlyMap<string, Place>,
): Place[] {
  const { model, param, itemKey = 'id' } = resource ?? {}
  const file = { model, param: 'stored_file_id', property: model && fileOf(model)?.column }
  const all = [...parents, { model, param, property: itemKey }, file].flatMap((place) =>
    place.model && place.param !== undefined && place.property ? [place as Place] : [],
  )
  return pattern.params.flatMap(
    (name) => all.find((place) => place.param === name) ?? (resource ? [] : (known?.get(name) ?? [])),
  )
}

/** The values of the parameters in a path. */
type Params = ReadonlyMap<string, string>

/** The result of the requests to a route: leaks, and whether it could be filled with records of the own team. */
interface Visit {
  leaks: readonly string[]
  isFilled: boolean
}

/** A reference in a body. */
interface BodyReference {
  name: string
  target: new () => Model
  withId(id: string): object
}

/** The first attribute of a model with one file. */
function fileOf(model: Function) {
  return filesOf(model).find(({ column }) => column !== undefined)
}

/** A team with a member, and records of each model. */
class Side {
  private readonly made = new Map<Function, Model>()

  constructor(
    readonly client: Client,
    readonly team: Model,
    readonly user: Model,
  ) {
    this.made.set(team.constructor, team)
    this.made.set(user.constructor, user)
  }

  /** The record of a model in the team. */
  async record(model: new () => Model): Promise<Model> {
    const found = this.made.get(model) ?? (await this.make(model))
    this.made.set(model, found)
    return found
  }

  /** Creates a further record of a model in the team. */
  async make(model: new () => Model): Promise<Model> {
    const { database, factory } = this.client.recordsOf()
    const keys: Record<string, unknown> = {}
    const metadata = database.getMetadata(model)
    for (const { relation, key } of enclosuresOf(metadata))
      keys[key.propertyName] = (
        await this.record(relation.inverseEntityMetadata.target as new () => Model)
      ).id
    // A policy may show the records of their user alone.
    for (const { inverseEntityMetadata: to, joinColumns } of metadata.relations)
      for (const key of to.target === this.user.constructor ? joinColumns : []) {
        const isOfMember = chainsOf(to).some(({ members }) => members?.user === key)
        if (!key.isNullable && !isUnique(key) && !isOfMember) keys[key.propertyName] ??= this.user.id
      }
    const file = fileOf(model)
    return factory.make(model, { ...keys, ...(file && { [file.name]: await factory.storeFile(file) }) })
  }

  get records(): Model[] {
    return [...this.made.values()]
  }
}

/** Sends requests of a member of one team. */
class Walk {
  private leaks: string[] = []

  private constructor(
    private readonly ours: Side,
    private readonly theirs: Side,
  ) {}

  static async begin(client: Client): Promise<Walk> {
    const [highest] = membersIn(client).roles.names
    const makeSide = async (): Promise<Side> => {
      const team = await client.helper('makeTeam')()
      const user = await client.helper('makeMember')(team, highest)
      const own = client.another()
      await client.helper('signIn')(own, user)
      // A page has the token of forms.
      await own.get('/', { accept: 'html', contract: false })
      return new Side(own, team, user)
    }
    const walk = new Walk(await makeSide(), await makeSide())
    for (const { resource } of routesOf(client)) {
      const model = resource?.model as (new () => Model) | undefined
      const references = model ? [...walk.referencesOf(model).values()] : []
      for (const one of model ? [model, ...references.filter((target) => walk.isInTeam(target))] : [])
        for (const side of [walk.ours, walk.theirs]) await side.record(one)
    }
    return walk
  }

  /** Returns what a route tells of the other team, and whether it could be filled with records of the own one. */
  async visit(route: DeclaredRoute): Promise<Visit> {
    const visit = await this.visitWith(route, false)
    const { model } = route.resource ?? {}
    const { database } = this.ours.client.recordsOf()
    const hasTrash = model !== undefined && database.getMetadata(model).deleteDateColumn !== undefined
    if (visit.isFilled || visit.leaks.length > 0 || !hasTrash || model === this.ours.team.constructor)
      return visit
    return this.visitWith(route, true)
  }

  /** @param inTrash whether the records of the resource are in the trash */
  private async visitWith(route: DeclaredRoute, inTrash: boolean): Promise<Visit> {
    this.leaks = []
    const { model } = route.resource ?? {}
    const isTeam = model === this.ours.team.constructor
    const own = await this.fillPlaces(this.ours, route, inTrash, true)
    const theirs = await this.fillPlaces(this.theirs, route, inTrash, inTrash)
    const body = await this.bodyOf(route)
    // A further record, because the own team will have its values.
    const twin = body && model && !isTeam ? await this.theirs.make(model as new () => Model) : undefined
    const before = await this.theirRows()
    await this.visitPlaces(route, own, theirs, body && { ...body, ...(await this.idsFor(route)) })
    // A record leaves the trash with the first request.
    if (body && !inTrash) await this.visitReferences(route, own, body)
    if (body && twin && !inTrash) await this.visitValues(route, own, twin)
    if (route.resource?.action === 'list') await this.visitQueries(route, own)
    // The team itself is needed until the end.
    const isEnd = route.method === 'DELETE' && isTeam
    const isFilled = isEnd || (await this.visitOwn(route, own, body))
    if ((await this.theirRows()) !== before) this.leaks.push('It changes records of another team.')
    return { leaks: [...new Set(this.leaks)], isFilled }
  }

  /** The values of the parameters in the path, of the record of the resource and of those that contain it. */
  private async fillPlaces(
    side: Side,
    route: DeclaredRoute,
    inTrash: boolean,
    isNew: boolean,
  ): Promise<Params> {
    const places = placesOf(route, placesByParam(side.client))
    const model = route.resource?.model as (new () => Model) | undefined
    const hasItem = model !== side.team.constructor && places.some((place) => place.model === model)
    const item = model && hasItem && isNew ? await side.make(model) : undefined
    const { database } = side.client.recordsOf()
    if (item && inTrash) await database.transaction((tx) => destroyRecord(unscopedWork(tx), item))
    // A parameter that belongs to no record has any value. If the handler finds nothing by it, the route is skipped.
    const values = new Map(route.pattern.params.map((param) => [param, newId()]))
    for (const place of places) {
      const record = item && place.model === model ? item : await side.record(place.model)
      values.set(place.param, String(Reflect.get(record, place.property)))
    }
    return values
  }

  /** Sends the ids of the other team in the path. */
  private async visitPlaces(
    route: DeclaredRoute,
    own: Params,
    theirs: Params,
    body: object | undefined,
  ): Promise<void> {
    for (const [param, id] of theirs)
      await this.compare(`its parameter "${param}"`, id, (value) =>
        this.send(route, new Map([...own, [param, value]]), body),
      )
    const { status } = await this.send(route, theirs, body)
    // The page of an import is the same for every team, and for unknown ones.
    if (status !== 404 && route.resource?.forMany !== 'page')
      this.leaks.push(`A member of another team gets ${status} instead of 404.`)
  }

  /** Sends the ids of the other team in references, and in a list of ids. */
  private async visitReferences(
    route: DeclaredRoute,
    own: Params,
    body: Record<string, unknown>,
  ): Promise<void> {
    const model = route.resource?.model as new () => Model
    for (const { name, target, withId } of this.referencesIn(model, body)) {
      if (!this.isInTeam(target)) continue
      const { id } = await this.theirs.record(target)
      await this.compare(`the reference "${name}"`, id, (value) => this.send(route, own, withId(value)))
    }
    const record = await this.theirs.record(model)
    if (takesIds(route))
      await this.compare('a list of ids', record.id, (id) => this.send(route, own, { ...body, ids: [id] }))
  }

  /** Sends the values that a record of the other team has. */
  private async visitValues(route: DeclaredRoute, own: Params, record: Model): Promise<void> {
    const body = (await this.bodyOf(route)) ?? {}
    const references = this.referencesOf(record.constructor as new () => Model)
    const taken = Object.keys(body).filter((name) => typeof body[name] === 'string' && !references.has(name))
    const values = Object.fromEntries(taken.map((name) => [name, Reflect.get(record, name) as unknown]))
    // An enum has few values.
    if (await this.hasOwn(record.constructor, body, own)) return
    const free = await this.send(route, own, body)
    const sent = { ...(await this.bodyOf(route)), ...values }
    if (await this.hasOwn(record.constructor, sent, own)) return
    const other = await this.send(route, own, sent)
    if (free.status !== other.status)
      this.leaks.push(`A value that another team has gets ${other.status}, and a new one ${free.status}.`)
  }

  /** Whether another record of the own team has one of the values that must be unique. */
  private async hasOwn(model: Function, values: Record<string, unknown>, own: Params): Promise<boolean> {
    const metadata = this.ours.client.recordsOf().database.getMetadata(model)
    const names = metadata.columns.filter(isUnique).map(({ propertyName }) => propertyName)
    const rows = (await this.rowsOf(this.ours, metadata)) ?? []
    const others = rows.filter(({ id }) => ![...own.values()].includes(String(id)))
    return others.some((row) =>
      names.some((name) => values[name] && String(values[name]) === String(Reflect.get(row, name))),
    )
  }

  /** Sends filters with the values of the other team, and includes all that the list can include. */
  private async visitQueries(route: DeclaredRoute, own: Params): Promise<void> {
    const { model, queryable } = route.resource ?? {}
    const references = this.referencesOf(model as new () => Model)
    for (const [name, declared] of Object.entries(queryable?.filter ?? {})) {
      const target = references.get(name)
      if (target && !this.isInTeam(target)) continue
      const isText = declared instanceof CustomFilter && ['string', 'text', 'uuid'].includes(declared.kind)
      const values = target ? [(await this.theirs.record(target)).id] : isText ? this.planted : []
      for (const value of values)
        await this.compare(`the filter "${name}"`, value, (one) =>
          this.send(route, own, undefined, `?${name}=${encodeURIComponent(one)}`),
        )
    }
    const { include = [] } = queryable ?? {}
    const names = Array.isArray(include) ? include : Object.keys(include)
    if (names.length > 0) await this.send(route, own, undefined, `?include=${names.join(',')}`)
    if (route.resource?.many?.csv) await this.send(route, own, undefined, '', 'text/csv')
  }

  /** Sends a request that should succeed. */
  private async visitOwn(route: DeclaredRoute, own: Params, body: object | undefined): Promise<boolean> {
    const isRead = route.method === 'GET'
    const responses = [
      ...(isRead ? [await this.send(route, own, undefined, '', 'html')] : []),
      await this.send(
        route,
        own,
        body && { ...body, ...(await this.bodyOf(route)), ...(await this.idsFor(route)) },
      ),
    ]
    return responses.some(({ status }) => status < 400 || status === 403 || status === 409)
  }

  /** A list with the id of an own record, for a handler that is not one of the usual ones. */
  private async idsFor(route: DeclaredRoute): Promise<object> {
    const { resource } = route
    if (!takesIds(route) || !resource?.model) return {}
    return { ids: [(await this.ours.make(resource.model as new () => Model)).id] }
  }

  /** Compares the responses to a value of the other team and to an unknown one. */
  private async compare(
    what: string,
    value: string,
    send: (value: string) => Promise<ClientResponse>,
  ): Promise<void> {
    const unknown = newId()
    const [known, other] = [await send(value), await send(unknown)]
    if (known.status !== other.status)
      this.leaks.push(
        `A value of another team in ${what} gets ${known.status}, and an unknown one ${other.status}.`,
      )
    else if (shapeOf(known, value) !== shapeOf(other, unknown))
      this.leaks.push(`A value of another team in ${what} gets another response than an unknown one.`)
  }

  /** Sends a request of the own member, and searches the response for texts of the other team that the request did not contain. */
  private async send(
    route: DeclaredRoute,
    params: Params,
    body?: object,
    query = '',
    accept = 'json',
  ): Promise<ClientResponse> {
    const path = [...params].reduce(
      (text, [param, value]) => text.replace(new RegExp(`\\{${param}\\}`), value),
      route.path,
    )
    const options = { accept, contract: false as const, ...(body && encode(route, body)) }
    const response = await this.ours.client.request(route.method, path + query, options)
    const sent = path + decodeURIComponent(query) + JSON.stringify(body ?? '')
    for (const text of this.planted)
      if (response.text.includes(text) && !sent.includes(text))
        this.leaks.push(`It shows ${JSON.stringify(text)} of another team.`)
    return response
  }

  /** The texts and ids that only records of the other team have. */
  private get planted(): string[] {
    const own = new Set(textsOf(this.ours.records))
    return [...new Set(textsOf(this.theirs.records))].filter((text) => text.length > 7 && !own.has(text))
  }

  /** A body with new values, and with references to records of the own team. */
  private async bodyOf({ resource, readsBody }: DeclaredRoute): Promise<Record<string, unknown> | undefined> {
    const { model, fields } = resource ?? {}
    return readsBody && model ? this.valuesOf(model as new () => Model, fields) : undefined
  }

  private async valuesOf(
    model: new () => Model,
    fields?: readonly string[],
  ): Promise<Record<string, unknown>> {
    const record = this.ours.client.recordsOf().factory.build(model)
    const body: Record<string, unknown> = {}
    const references = this.referencesOf(model)
    for (const name of fields ?? Object.keys(record)) {
      const target = references.get(name)
      const isList = relationIdsOf(model).some((property) => property.name === name)
      const id = target && (await this.ours.record(target)).id
      const value: unknown = id ?? Reflect.get(record, name)
      if (value !== undefined) body[name] = isList && id ? [id] : value
    }
    for (const list of nestedListsOf(model))
      if (fields?.includes(list.name))
        body[list.name] = [await this.valuesOf(list.line as new () => Model, list.fields)]
    return body
  }

  /** The references in a body and in its lines, and the body with another id in the place of each. */
  private referencesIn(model: new () => Model, body: Record<string, unknown>): BodyReference[] {
    const own = [...this.referencesOf(model)].flatMap(([name, target]) => {
      const withId = (id: string) => ({ ...body, [name]: Array.isArray(body[name]) ? [id] : id })
      return name in body ? [{ name, target, withId }] : []
    })
    const ofLines = nestedListsOf(model).flatMap(({ name: list, line }) => {
      const [values] = (body[list] ?? []) as Record<string, unknown>[]
      const references = values ? this.referencesIn(line as new () => Model, values) : []
      return references.map(({ name, target, withId }) => ({
        name: `${list}.${name}`,
        target,
        withId: (id: string) => ({ ...body, [list]: [withId(id)] }),
      }))
    })
    return [...own, ...ofLines]
  }

  /** Whether the records of a model are in a team. Records of no team are for everybody. */
  private isInTeam(model: new () => Model): boolean {
    const { team } = this.ours
    if (model === team.constructor) return true
    return chainsOf(this.ours.client.recordsOf().database.getMetadata(model)).some(
      (chain) => chain.model.target === team.constructor,
    )
  }

  /** The attributes of a model that refer to records, and the models of those. */
  private referencesOf(model: new () => Model): Map<string, new () => Model> {
    const { relations } = this.ours.client.recordsOf().database.getMetadata(model)
    const lists = new Map(relationIdsOf(model).map(({ name, relation }) => [relation, name]))
    const entries = relations.flatMap(
      ({ propertyName, joinColumns, isManyToMany, inverseEntityMetadata }) => {
        const name = isManyToMany ? lists.get(propertyName) : joinColumns[0]?.propertyName
        const { target } = inverseEntityMetadata
        return name !== undefined && typeof target === 'function'
          ? [[name, target as new () => Model] as const]
          : []
      },
    )
    return new Map(entries)
  }

  /** All rows of the other team, as a text to compare. */
  private async theirRows(): Promise<string> {
    const rows: unknown[] = []
    for (const metadata of this.ours.client.tx.dataSource.entityMetadatas)
      rows.push(await this.rowsOf(this.theirs, metadata))
    return JSON.stringify(rows)
  }

  /** The rows of a table that are in a team; undefined for a table that is in none. */
  private async rowsOf({ team }: Side, metadata: EntityMetadata): Promise<{ id: unknown }[] | undefined> {
    const { id } = team
    const chain = chainsOf(metadata).find(
      ({ model, members }) => model.target === team.constructor && !members,
    )
    const where = metadata.target === team.constructor ? { id } : chain && conditionOn(chain, id)
    return (
      where && this.ours.client.tx.find(metadata.target, { where, order: { id: 'ASC' }, withDeleted: true })
    )
  }
}

/** Whether a handler may read a list of ids. */
function takesIds({ resource }: DeclaredRoute): boolean {
  return resource?.forMany === 'bulk' || !['create', 'update', 'destroy'].includes(resource?.action ?? '')
}

/** Encodes a body: as a form if it is a CSV file, or needs a file, else as JSON. */
function encode({ resource }: DeclaredRoute, body: object): Pick<RequestOptions, 'form' | 'json'> {
  const { model, forMany, action } = resource ?? {}
  if (forMany === 'import') return { form: toCsvForm(body) }
  const files = action === 'create' && model ? filesOf(model).filter((file) => needsFile(model, file)) : []
  if (files.length === 0) return { json: body }
  const samples = files.map(({ name, types }) => [name, sampleFile(types[0] ?? 'text/plain')])
  return { form: { ...JSON.parse(JSON.stringify(body)), ...Object.fromEntries(samples) } }
}

/** The form with a CSV file of one line. */
function toCsvForm(body: object): FormData {
  const cells = Object.entries(body).filter(([, value]) => !Array.isArray(value))
  const lines = [cells.map(([name]) => name), cells.map(([, value]) => JSON.stringify(value))]
  const form = new FormData()
  form.set('file', new File([lines.map((line) => line.join()).join('\n')], 'records.csv'))
  return form
}

/** A response without what differs between two equal requests: the value that was sent, ids, tokens and times. */
function shapeOf({ text }: ClientResponse, sent: string): string {
  return text.replaceAll(sent, '').replaceAll(/[\w-]{20,}|\d{4}-\d\d-\d\dT[\d:.]+Z/g, '')
}

function textsOf(records: readonly Model[]): string[] {
  return records.flatMap((record) => Object.values(record).filter((value) => typeof value === 'string'))
}
