import { expect } from 'chai'
import { pino } from 'pino'
import {
  Column,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  ManyToOne,
  VersionColumn,
  type Relation,
} from 'typeorm'
import { History, HistoryEntry, historyOf } from '../../../src/history/index.js'
import {
  App,
  BaseResource,
  Database,
  Model,
  Parent,
  Resource,
  Route,
  transaction,
  Within,
  type Context,
  type Next,
} from '../../../src/index.js'
import { newId } from '../../../src/models/ids.js'
import { teamMembers } from '../../../src/teams/index.js'
import { databaseWithTables } from '../../support/databases.js'
import { Site } from '../../support/site.js'

@Entity('people')
class Person extends Model {
  @Column('varchar') email!: string
}

/** A team that is moved to a trash. */
@Entity('crews')
class Crew extends Model {
  @Column('varchar') name!: string
  @DeleteDateColumn({ type: Date }) deleted_at!: Date | null
}

abstract class InCrew extends Model {
  @Column('uuid') crew_id!: string

  @ManyToOne(() => Crew)
  @JoinColumn({ name: 'crew_id' })
  crew?: Relation<Crew> | null
}

@Entity('crew_members')
@Within('crew')
class Member extends InCrew {
  @Column('uuid') user_id!: string
  @Column('varchar') role!: string

  @ManyToOne(() => Person)
  @JoinColumn({ name: 'user_id' })
  user?: Relation<Person>
}

@Entity('crew_invitations')
@Within('crew')
class Invited extends InCrew {
  @Column('varchar') email!: string
  @Column('varchar') role!: string
  @Column('varchar') token_hash!: string
  @Column({ type: Date }) expires_at!: Date
  @Column('uuid', { nullable: true }) inviter_id!: string | null
}

/** A record with a trash, a history and a version. */
@Entity('deeds')
@Within('crew')
@History()
class Deed extends InCrew {
  @Column('varchar') title!: string
  @DeleteDateColumn({ type: Date }) deleted_at!: Date | null
  @VersionColumn() lock_version!: number
}

const MODELS = [Person, Crew, Member, Invited, Deed, HistoryEntry]
const roles = ['owner', 'clerk', 'viewer'] as const

const open = (url: string): Promise<Database> =>
  new Database({ test: { url }, models: MODELS }, 'test').open()

/** An application whose handlers find a record by the keys in the path, and never the team. */
function deedsApplication(database: Database) {
  const models = { team: Crew, membership: Member, invitation: Invited }
  const crews = teamMembers(database, { ...models, roles })

  class CrewPolicy extends crews.RolePolicy<Crew> {
    destroy(user: Person | undefined, crew: Crew) {
      return this.atLeast('owner', user, crew)
    }
  }
  class InvitedPolicy extends crews.RolePolicy<Invited> {
    create(user: Person | undefined, invitation: Invited) {
      return this.atLeast('owner', user, invitation)
    }
  }
  class DeedPolicy extends crews.RolePolicy<Deed> {
    create(user: Person | undefined, deed: Deed) {
      return this.atLeast('clerk', user, deed)
    }
    update(user: Person | undefined, deed: Deed) {
      return this.atLeast('clerk', user, deed)
    }
    destroy(user: Person | undefined, deed: Deed) {
      return this.update(user, deed)
    }
    history(user: Person | undefined, deed: Deed) {
      return this.atLeast('viewer', user, deed)
    }
    restore(user: Person | undefined, deed: Deed) {
      return this.update(user, deed)
    }
  }

  @Resource('/crews', { model: Crew, policy: CrewPolicy, fields: ['name'] })
  class Crews extends BaseResource {
    override async show(ctx: Context) {
      return ctx.respond({ data: await ctx.find(Crew, ctx.params['crew_id']) })
    }
    override async destroy(ctx: Context) {
      const crew = await ctx.authorize(await ctx.find(Crew, ctx.params['crew_id']))
      await ctx.destroy(crew)
      return ctx.respond({ data: crew })
    }
  }

  @Resource('/invitations', { model: Invited, policy: InvitedPolicy, fields: [] })
  @Parent(Crews)
  class Invitations extends BaseResource {
    override async create(ctx: Context) {
      const { crew_id = '' } = ctx.params
      const values = { crew_id, email: 'new@x.org', role: 'viewer' }
      const invitation = await ctx.authorize(Object.assign(new Invited(), values))
      const { errors, token } = await crews.invite(ctx, invitation)
      return errors ? ctx.respond(errors) : ctx.respond(201, { data: { token } })
    }
  }

  @Resource('/deeds', { model: Deed, policy: DeedPolicy, fields: ['title'] })
  @Parent(Crews)
  class Deeds extends BaseResource {
    private find(ctx: Context, trashed = false) {
      const { deed_id: id, crew_id = '' } = ctx.params
      return ctx.findOneBy(Deed, { id, crew_id }, { trashed })
    }
    private async page(ctx: Context, trashed = false) {
      const { records } = await ctx.paginate(Deed, { where: { crew_id: ctx.params['crew_id'] }, trashed })
      return ctx.respond({ data: records })
    }
    override list(ctx: Context) {
      return this.page(ctx)
    }
    override async show(ctx: Context) {
      return ctx.respond({ data: await this.find(ctx) })
    }
    override async create(ctx: Context) {
      const { crew_id = '' } = ctx.params
      const deed = ctx.bind(await ctx.authorize(Object.assign(new Deed(), { crew_id })))
      const errors = await ctx.save(deed)
      return errors ? ctx.respond(errors) : ctx.respond(201, { data: deed })
    }
    override async update(ctx: Context) {
      const deed = ctx.bind(await ctx.authorize(await this.find(ctx)))
      const errors = await ctx.save(deed)
      return errors ? ctx.respond(errors) : ctx.respond({ data: deed })
    }
    override async destroy(ctx: Context) {
      const deed = await ctx.authorize(await this.find(ctx))
      await ctx.destroy(deed)
      return ctx.respond({ data: deed })
    }
    @Route('GET', '/trash')
    trash(ctx: Context) {
      return this.page(ctx, true)
    }
    @Route('POST', '/{deed_id}/restore')
    async restore(ctx: Context) {
      const deed = await ctx.authorize(await this.find(ctx, true))
      const errors = await ctx.restore(deed)
      return errors ? ctx.respond(errors) : ctx.respond({ data: deed })
    }
    @Route('GET', '/{deed_id}/history')
    async history(ctx: Context) {
      return ctx.respond({ data: (await historyOf(ctx, await this.find(ctx))).records })
    }
  }

  const app = new App({ logger: pino({ level: 'silent' }) })
  const setUser = async (ctx: Context, next: Next) => {
    const id = ctx.get('User')
    const user = id ? await database.read((tx) => tx.findOneBy(Person, { id })) : null
    if (user) Object.assign(ctx, { user })
    return next()
  }
  app.use(Object.assign(setUser, { beforeBody: true }))
  app.use(crews)
  app.use(transaction(database))
  app.resource(Crews)
  app.resource(Invitations)
  app.resource(Deeds)
  app.get('/invitation/{token}', async (ctx) => {
    const { email } = await crews.invitation(ctx.params['token'])
    ctx.body = { email }
  })
  app.put('/invitation/{token}', async (ctx) => {
    const user = Reflect.get(ctx, 'user') as unknown as Person
    ctx.body = { role: (await crews.accept(ctx, ctx.params['token'], user)).role }
  })
  return app
}

describe('A team whose records have a history, a trash and a version', () => {
  let database: Database
  let site: Site
  let crew: Crew
  let others: Crew
  let deed: { id: string; etag: string }
  let users: Record<string, string>

  beforeEach(async () => {
    database = await open(
      await databaseWithTables('teams with a trash', async (url) => {
        const made = await open(url)
        await made.synchronize()
        await made.close()
      }),
    )
    const insert = async <T extends Model>(model: new () => T, values: Partial<T>): Promise<T> =>
      database.manager.save(Object.assign(new model(), values))
    crew = await insert(Crew, { name: 'Night' })
    others = await insert(Crew, { name: 'Day' })
    users = {}
    for (const role of [...roles, 'stranger', 'new']) {
      const { id: user_id } = await insert(Person, { email: `${role}@x.org` })
      users[role] = user_id
      if (role === 'stranger') await insert(Member, { crew_id: others.id, role: 'owner', user_id })
      else if (role !== 'new') await insert(Member, { crew_id: crew.id, role, user_id })
    }
    site = await Site.open(deedsApplication(database))
    const made = await send('clerk', 'POST', deeds(), { title: 'ours' })
    deed = { id: made.json.id, etag: made.headers.get('etag') ?? '' }
  })

  afterEach(async () => {
    await site.close()
    await database.close()
  })

  const deeds = (path = '', team = crew) => `/crews/${team.id}/deeds${path}`
  const send = (who: string, method: string, path: string, json?: object, headers: object = {}) =>
    site.request(method, path, {
      accept: 'json',
      headers: { user: users[who] ?? '', ...headers },
      ...(json && { json }),
    })
  const statusOf = async (...request: Parameters<typeof send>) => (await send(...request)).status

  /** Requests of somebody else for a record, below both teams. */
  async function expectHidden(method: string, path: (id: string) => string, json?: object) {
    for (const team of [crew, others])
      for (const id of [deed.id, newId()])
        expect(await statusOf('stranger', method, deeds(path(id), team), json), path(id)).to.equal(404)
  }

  it('shows the history to members alone', async () => {
    const { status, json } = await send('viewer', 'GET', deeds(`/${deed.id}/history`))
    expect([status, json.length, json[0].user_id]).to.deep.equal([200, 1, users['clerk']])
    await expectHidden('GET', (id) => `/${id}/history`)
  })

  it('shows the trash to members, and restores for those whom the policy allows it', async () => {
    expect(await statusOf('clerk', 'DELETE', deeds(`/${deed.id}`))).to.equal(200)
    const inTrash = async (who: string, team = crew) => (await send(who, 'GET', deeds('/trash', team))).json
    expect(await inTrash('viewer')).to.have.length(1)
    expect(await inTrash('stranger')).to.deep.equal([])
    expect(await inTrash('stranger', others)).to.deep.equal([])
    await expectHidden('POST', (id) => `/${id}/restore`)
    const restore = deeds(`/${deed.id}/restore`)
    expect([
      await statusOf('viewer', 'POST', restore),
      await statusOf('clerk', 'POST', restore),
    ]).to.deep.equal([403, 200])
  })

  it('says 404 before 412', async () => {
    const change = (who: string, id: string, etag: string) =>
      statusOf(who, 'PATCH', deeds(`/${id}`), { title: 'new' }, { 'if-match': etag })
    expect(await change('clerk', deed.id, '"9"')).to.equal(412)
    for (const etag of ['"9"', deed.etag, '*']) {
      expect(await change('stranger', deed.id, etag)).to.equal(404)
      expect(await change('clerk', newId(), etag)).to.equal(404)
    }
    expect(await change('clerk', deed.id, deed.etag)).to.equal(200)
  })

  it('is out of reach in the trash, with its records and its invitations', async () => {
    const invited = await send('owner', 'POST', `/crews/${crew.id}/invitations`, {})
    expect(invited.status, invited.text).to.equal(201)
    const { token } = invited.json
    expect(await statusOf('new', 'GET', `/invitation/${token}`)).to.equal(200)
    const second = (await send('clerk', 'POST', deeds(), { title: 'second' })).json.id
    expect(await statusOf('clerk', 'DELETE', deeds(`/${second}`))).to.equal(200)
    expect(await statusOf('owner', 'DELETE', `/crews/${crew.id}`)).to.equal(200)
    for (const [method, path] of [
      ['GET', `/crews/${crew.id}`],
      ['GET', deeds(`/${deed.id}`)],
      ['GET', deeds(`/${deed.id}/history`)],
      ['PATCH', deeds(`/${deed.id}`)],
      ['DELETE', deeds(`/${deed.id}`)],
      ['POST', deeds(`/${second}/restore`)],
    ] as const)
      expect(await statusOf('owner', method, path, method === 'GET' ? undefined : {}), path).to.equal(404)
    for (const path of [deeds(), `/crews/${crew.id}/invitations`])
      expect(await statusOf('owner', 'POST', path, { title: 'third' })).to.equal(403)
    for (const path of [deeds(), deeds('/trash')])
      expect((await send('owner', 'GET', path)).json).to.deep.equal([])
    for (const method of ['GET', 'PUT'])
      expect(
        await statusOf('new', method, `/invitation/${token}`, method === 'PUT' ? {} : undefined),
      ).to.equal(410)
    expect(await database.manager.countBy(Member, { crew_id: crew.id })).to.equal(roles.length)
  })
})
