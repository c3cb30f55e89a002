import { expect } from 'chai'
import { captureLog } from '../../../src/testing/index.js'
import { newId } from '../../../src/models/ids.js'
import type { Database, DeclaredRoute } from '../../../src/index.js'
import {
  Branch,
  Customer,
  Invitation,
  Item,
  Line,
  Membership,
  Rental,
  teamsApplication,
  teamsDatabase,
  Token,
  User,
} from '../../support/applications/teams.js'
import { issueToken, passwordStamp } from '../../../src/auth/index.js'
import { Random } from '../../support/random.js'
import { Site, type SpecRequest, type SpecResponse } from '../../support/site.js'

/** The number of requests: `KIT_TEAMS`. */
const total = Number(process.env['KIT_TEAMS'] ?? 50)
/** The seed of a failed run, which is printed with the failure. */
const seed = Number(process.env['KIT_TEAMS_SEED'] ?? Date.now() % 2 ** 31)

/** Rows by their models. */
type Rows = [model: new () => object, rows: object[]][]

/** An application with the rows of two branches, of which the second one is different in each world. */
interface World {
  database: Database
  site: Site
  /** The statements of the last request. */
  statements: string[]
}

/** A request that is sent to both worlds. An id that each world has created is a pair. */
interface Sent {
  method: string
  path: string
  request: SpecRequest
}

/** An id that is the same in both worlds, or one of each. */
type Id = string | readonly [string, string]

describe(`A member of one team (KIT_TEAMS_SEED=${seed} KIT_TEAMS=${total})`, function () {
  this.timeout(0)
  const random = new Random(seed)
  const pick = <T>(things: readonly T[]) => random.of(things as [T, ...T[]])
  const log = captureLog()
  const worlds: World[] = []
  const actors: { bearer: string }[] = []
  /** The ids that requests contain, of both branches and of none. */
  const ids: Record<string, Id[]> = {}
  let routes: readonly DeclaredRoute[] = []

  before(async () => {
    const ours = rowsOf('ours', 3)
    const { people, shared } = accounts()
    const [first, second] = [rowsOf('theirs', 4), rowsOf('others', 2)]
    const teams = [newId(), newId()]
    const invitations = ['x', 'y', 'z'].map((name) => ({
      id: newId(),
      branch_id: teams[1],
      email: `${name}@example.com`,
      role: 'clerk',
      token_hash: name,
      expires_at: new Date(Date.now() + 60_000),
      inviter_id: null,
    }))
    for (const [number, theirs] of [first, second].entries()) {
      const database = await teamsDatabase()
      const { app } = teamsApplication(database, { logger: log.logger })
      const insert = async (rows: Rows) => {
        for (const [model, list] of rows) if (list.length > 0) await database.manager.insert(model, list)
      }
      await insert(shared)
      await insert([
        [Branch, teams.map((id, index) => ({ id, name: `Branch ${index}` }))],
        [Membership, memberships(people, teams, number)],
        [Invitation, number === 0 ? invitations : []],
      ])
      await insert(placed(ours, teams[0] ?? '', people[0]?.id ?? ''))
      await insert(placed(theirs, teams[1] ?? '', people[number]?.id ?? ''))
      const world: World = { database, site: await Site.open(app), statements: [] }
      const { logger } = database
      database.logger = Object.assign(Object.create(logger), {
        logQuery: (sql: string) => void world.statements.push(sql),
      })
      worlds.push(world)
      // A request that deletes any user tells that another team has the user.
      routes = app.routes.filter(({ isWritten, path }) => isWritten && !path.startsWith('/users'))
    }
    collectIds([ours, first, second], teams, people, invitations)
  })

  after(async () => {
    for (const { site, database } of worlds) {
      await site.close()
      await database.close()
    }
  })

  it('gets the same from two databases that differ in another team alone, with the same statements', async () => {
    for (let number = 0; number < total; number++) {
      const sent = next()
      const results: unknown[] = []
      const made: string[] = []
      for (const [index, world] of worlds.entries()) {
        world.statements.length = 0
        const { method, path, request } = localize(sent, index)
        const response = await world.site.request(method, path, request)
        if (response.status === 500) throw new Error(`${JSON.stringify(sent)}: ${lastError()}`)
        results.push({ ...shapeOf(response), statements: statementsOf(world) })
        made.push(idOf(response))
      }
      expect(results[1], `request ${number}: ${JSON.stringify(sent)}`).to.deep.equal(results[0])
      const [left, right] = made
      if (left && right) remember(sent, [left, right])
    }
  })

  function lastError(): string {
    return JSON.stringify(log.lines.findLast(({ err }) => err))
  }

  /** Users who are members of the first branch, and others. */
  function accounts() {
    const people = Array.from({ length: 6 }, (_, index) =>
      Object.assign(new User(), { id: newId(), email: `user-${index}@example.com`, admin: false }),
    )
    const tokens = people.slice(0, 3).map((user) => {
      const token = Object.assign(new Token(), { branch_id: null, last_used_at: new Date() })
      actors.push({ bearer: issueToken(token, user) })
      return { ...token, stamp: passwordStamp(user) }
    })
    const shared: Rows = [
      [User, people],
      [Token, tokens],
    ]
    return { people, shared }
  }

  /** The members of both branches. Those of the second one differ. */
  function memberships(people: readonly User[], teams: readonly string[], world: number): object[] {
    const member = (branch_id: string | undefined, index: number, role: string) => ({
      id: stableId(`${branch_id}-${index}`),
      branch_id,
      user_id: people[index]?.id,
      role,
    })
    return [
      ...['owner', 'clerk', 'viewer'].map((role, index) => member(teams[0], index, role)),
      ...(world === 0
        ? [member(teams[1], 3, 'owner'), member(teams[1], 4, 'viewer')]
        : [member(teams[1], 5, 'owner')]),
    ]
  }

  const stable = new Map<string, string>()
  function stableId(name: string): string {
    const id = stable.get(name) ?? newId()
    stable.set(name, id)
    return id
  }

  function rowsOf(name: string, count: number) {
    return Array.from({ length: count }, (_, index) => ({
      name: `${name} ${index}`,
      customer: newId(),
      item: newId(),
      rental: newId(),
      line: newId(),
    }))
  }

  function placed(rows: ReturnType<typeof rowsOf>, branch_id: string, user: string): Rows {
    return [
      [Customer, rows.map(({ customer: id, name }) => ({ id, name, branch_id }))],
      [Item, rows.map(({ item: id, name }) => ({ id, serial: name, branch_id }))],
      [
        Rental,
        rows.map(({ rental: id, customer, name }) => ({
          id,
          number: name,
          customer_id: customer,
          branch_id,
          assignee_id: user,
        })),
      ],
      [Line, rows.map(({ line: id, rental, name }) => ({ id, text: name, rental_id: rental }))],
    ]
  }

  function collectIds(
    all: ReturnType<typeof rowsOf>[],
    teams: readonly string[],
    people: readonly User[],
    invitations: readonly { id: string }[],
  ): void {
    const rows = all.flat()
    const strange = () => [newId(), 'x', '']
    ids['branch_id'] = [...Array.from({ length: 6 }, () => teams[0] ?? ''), ...teams, newId()]
    for (const name of ['customer', 'item', 'rental', 'line'] as const)
      ids[`${name}_id`] = [...(all[0] ?? []), ...(all[0] ?? []), ...rows]
        .map((row) => row[name])
        .concat(strange())
    ids['membership_id'] = [...stable.values(), ...strange()]
    ids['invitation_id'] = [...invitations.map(({ id }) => id), ...strange()]
    ids['user_id'] = [...people.map(({ id }) => id), ...strange()]
    ids['assignee_id'] = ids['user_id']
    ids['after_id'] = ids['line_id'] ?? []
    ids['token_id'] = strange()
  }

  const texts = [
    'ours 1',
    'theirs 1',
    'others 1',
    'theirs',
    'new',
    '',
    'x@example.com',
    'user-4@example.com',
    'clerk',
  ]
  const text = () => pick(texts)

  /** A request of a member of the first branch. */
  function next(): Sent {
    const route = pick(routes)
    const { bearer } = pick(actors)
    const accept = pick(['json', 'json', 'json', 'xml', 'html'])
    const headers: Record<string, string> = { authorization: `Bearer ${bearer}` }
    if (random.chance(0.2)) headers['Idempotency-Key'] = pick(['one', 'two'])
    if (random.chance(0.1)) headers['If-Match'] = pick(['*', '"x"'])
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_: string, name: string) =>
      mark(pick(ids[name] ?? ['x'])),
    )
    const query = route.method === 'GET' && random.chance(0.7) ? `?${queryOf(route)}` : ''
    const isRead = route.method === 'GET' || route.method === 'DELETE'
    const form = new FormData()
    form.set('file', new File([`serial,number,customer.name\n${text()},${text()},${text()}\n`], 'file.csv'))
    const body = isRead ? {} : path.endsWith('/import') ? { form } : { json: bodyOf(route) }
    return { method: route.method, path: path + query, request: { accept, headers, ...body } }
  }

  function queryOf({ resource }: DeclaredRoute): string {
    const { filter = {}, sort = [], include = {} } = resource?.queryable ?? {}
    const pairs: [string, string][] = []
    for (const name of Object.keys(filter))
      if (random.chance(0.5)) pairs.push([name, name in ids ? mark(pick(ids[name] ?? [])) : text()])
    if (random.chance(0.3)) pairs.push(['search', text()])
    if (random.chance(0.3)) pairs.push(['sort', pick([...sort, 'x'])])
    if (random.chance(0.3)) pairs.push(['include', pick([...Object.keys(include), 'x'])])
    if (random.chance(0.3)) pairs.push(['per_page', pick(['1', '2', '1000'])])
    if (random.chance(0.2)) pairs.push(['after', mark(pick(ids['rental_id'] ?? []))])
    return pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
  }

  function bodyOf({ resource }: DeclaredRoute): Record<string, unknown> {
    const names = [...(resource?.fields ?? []), 'branch_id', 'token'].filter(() => random.chance(0.8))
    const values = names.map((name) => {
      const key = name.replace(/_ids$/, '_id')
      if (key in ids && name !== key) return [name, [markIn(key), markIn(key)]]
      return [name, key in ids ? markIn(key) : name === 'role' ? pick(['owner', 'viewer', 'x']) : text()]
    })
    const selected = `${resource?.singular}_id`
    return { ...Object.fromEntries(values), ...(selected in ids && { ids: [markIn(selected)] }) }
  }

  const markIn = (name: string) => mark(pick(ids[name] ?? ['x']))

  /** The id itself, or the number of a pair. */
  const pairs: (readonly [string, string])[] = []
  function mark(id: Id): string {
    return typeof id === 'string' ? id : `<${pairs.indexOf(id)}>`
  }

  /** Replaces the numbers of pairs by the ids of a world. */
  function localize({ method, path, request }: Sent, world: number): Sent {
    const fill = (source: string) =>
      source.replaceAll(
        /(?:<|%3C)(\d+)(?:>|%3E)/g,
        (_, index: string) => pairs[Number(index)]?.[world as 0] ?? '',
      )
    const json =
      request.json === undefined ? {} : { json: JSON.parse(fill(JSON.stringify(request.json))) as unknown }
    return { method, path: fill(path), request: { ...request, ...json } }
  }

  /** Lets later requests use what a request has made. */
  function remember({ path }: Sent, pair: readonly [string, string]): void {
    const [, singular] = /\/(\w+)s$/.exec(path) ?? []
    const list = ids[`${singular === 'branche' ? 'branch' : singular}_id`]
    if (!list || singular === 'branche') return
    pairs.push(pair)
    list.push(pair)
  }

  function idOf({ status, text: body }: SpecResponse): string {
    return status === 201 ? (/"id":"([^"]+)"/.exec(body)?.[1] ?? '') : ''
  }

  /** The numbers of columns differ if ids and times do, so those are replaced. */
  function shapeOf({ status, headers, text: body }: SpecResponse): object {
    const plain = (value: string) =>
      value
        .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, '')
        .replaceAll(/\d{4}-\d\d-\d\d(T|%3A| )[\d:.]+Z?/g, 'TIME')
        .replaceAll(/[\w-]{22,}/g, 'ID')
    const shown = [...headers].map(([name, value]) => [name, plain(value)])
    const own = ['date', 'x-request-id', 'etag', 'server-timing', 'set-cookie']
    return { status, headers: shown.filter(([name]) => !own.includes(name ?? '')), body: plain(body) }
  }

  function statementsOf({ statements }: World): string[] {
    const plain = statements.map((sql) => sql.replaceAll(/\b\d{13}\b/g, 'TIME'))
    // The timeouts of statements depend on the time that is left, and keys expire by the clock.
    const byTime = /^DELETE FROM .idempotency_keys. WHERE .*expires_at|^SET .*_timeout|^PRAGMA busy_timeout/i
    return plain.filter((sql) => !byTime.test(sql))
  }
})
