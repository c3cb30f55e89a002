import { expect } from 'chai'
import { Column, Entity, JoinColumn, ManyToOne, VersionColumn, type Relation } from 'typeorm'
import {
  App,
  BaseResource,
  Database,
  Model,
  Resource,
  transaction,
  Within,
  type Context,
} from '../../../src/index.js'
import {
  authenticate,
  hashPassword,
  issueToken,
  passwordStamp,
  rehashPassword,
  type ApiToken,
} from '../../../src/auth/index.js'
import { HasFile, HasFiles, storedFiles, type StoredFile } from '../../../src/files/index.js'
import { History, HistoryEntry, historyTable, withoutHistory } from '../../../src/history/index.js'
import { teamMembers } from '../../../src/teams/index.js'
import { createItemTables } from '../../support/applications/items.js'
import { databaseWithTables } from '../../support/databases.js'
import { formWith, png } from '../../support/file-contents.js'
import { cheapHash } from '../../support/passwords.js'
import { Site } from '../../support/site.js'

@Entity('audited_users')
@History()
class User extends Model {
  @Column('varchar') email!: string
  @Column('varchar') password_hash!: string
}

@Entity('audited_tokens')
@History({ except: ['last_used_at'] })
class Token extends Model implements ApiToken {
  @Column('uuid') user_id!: string
  @Column('uuid', { nullable: true }) crew_id?: string | null
  @Column('varchar') secret_hash!: string
  @Column('varchar') stamp!: string
  @Column({ type: Date }) expires_at!: Date
  @Column({ type: Date, nullable: true }) last_used_at!: Date | null
}

@Entity('audited_crews')
@History()
class Crew extends Model {
  @Column('varchar') name!: string
}

@Entity('audited_members')
@History()
@Within('crew')
class Member extends Model {
  @Column('uuid') crew_id!: string
  @Column('uuid') user_id!: string
  @Column('varchar') role!: string

  @ManyToOne(() => Crew, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'crew_id' })
  crew?: Relation<Crew>

  @ManyToOne(() => User, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'user_id' })
  user?: Relation<User>
}

@Entity('audited_invitations')
@History()
@Within('crew')
class Invitation extends Model {
  @Column('uuid') crew_id!: string
  @Column('varchar') email!: string
  @Column('varchar') role!: string
  @Column('varchar') token_hash!: string
  @Column({ type: Date }) expires_at!: Date
  @Column('uuid', { nullable: true }) inviter_id!: string | null

  @ManyToOne(() => Crew, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'crew_id' })
  crew?: Relation<Crew>
}

@Entity('items')
@History()
class Item extends Model {
  @Column('varchar') name!: string
  @HasFile() photo!: StoredFile
  @HasFiles() documents!: StoredFile[]
  @VersionColumn() lock_version!: number
}

@Resource('/items', { model: Item, fields: ['name', 'photo', 'documents'] })
class ItemsResource extends BaseResource {
  override async create(ctx: Context) {
    const item = ctx.bind(new Item())
    const errors = await ctx.save(item)
    return errors ? ctx.respond(errors) : ctx.respond({ data: item })
  }
  override async update(ctx: Context) {
    const item = ctx.bind(await ctx.find(Item, ctx.params['item_id']))
    const errors = await ctx.save(item)
    return errors ? ctx.respond(errors) : ctx.respond({ data: item })
  }
  override async destroy(ctx: Context) {
    await ctx.destroy(await ctx.find(Item, ctx.params['item_id']))
    ctx.status = 204
  }
}

const open = (url: string, models: Function[]): Promise<Database> =>
  new Database({ test: { url }, models: [...models, HistoryEntry] }, 'test').open()

describe('A history of accounts, teams and files', () => {
  let database: Database
  let site: Site
  afterEach(() => site.close())

  const entries = async (table_name: string) =>
    (await database.manager.find(HistoryEntry, { where: { table_name }, order: { id: 'ASC' } })).map(
      ({ action, reason, user_id }) => [action, reason, user_id],
    )

  it('has entries for what the framework itself writes: tokens, invitations and memberships', async () => {
    const models = [User, Token, Crew, Member, Invitation]
    database = await open(
      await databaseWithTables('history of accounts', async (url) => {
        const empty = await open(url, models)
        await empty.synchronize()
        await empty.close()
      }),
      models,
    )
    let act: (ctx: Context) => Promise<unknown> = async () => undefined
    const members = teamMembers(database, {
      ...{ team: Crew, membership: Member, invitation: Invitation, tokens: Token },
      roles: ['owner', 'clerk'],
    })
    const app = new App({ api: true })
    app.use(authenticate(database, User, { tokens: Token }))
    app.use(members)
    app.use(transaction(database))
    app.post('/act', async (ctx: Context) => ctx.respond({ data: { result: (await act(ctx)) ?? null } }))
    site = await Site.open(app)
    const within = async (bearer: string, work: typeof act) => {
      act = work
      const headers = { authorization: `Bearer ${bearer}` }
      const response = await site.request('POST', '/act', { accept: 'json', json: {}, headers })
      expect(response.status, response.text).to.equal(200)
      return JSON.parse(response.text).result
    }
    const userIn = (ctx: Context) => Reflect.get(ctx, 'user') as User
    const make = async (email: string) => {
      const password_hash = await hashPassword('correct horse')
      const user = Object.assign(new User(), { email, password_hash })
      const token = new Token()
      await withoutHistory(database.manager, 'Seeds', (tx) => tx.save(user))
      const text = issueToken(token, user)
      await withoutHistory(database.manager, 'Seeds', (tx) => tx.save(token))
      return { user, token, text }
    }
    const [ada, bob] = [await make('ada@example.com'), await make('bob@example.com')]

    const crew_id = await within(ada.text, async (ctx) => {
      const crew = Object.assign(new Crew(), { name: 'Night' })
      await members.create(ctx, crew)
      return crew.id
    })
    const invite = async () =>
      within(ada.text, async (ctx) => {
        const invitation = Object.assign(new Invitation(), { crew_id, email: bob.user.email, role: 'clerk' })
        return (await members.invite(ctx, invitation)).token
      })
    await invite()
    const invited = await invite()
    await within(bob.text, async (ctx) => {
      await members.accept(ctx, invited, userIn(ctx))
      const token = Object.assign(new Token(), { crew_id })
      issueToken(token, userIn(ctx))
      return ctx.unscoped.save(token)
    })
    await within(ada.text, async (ctx) => {
      const member = await ctx.tx.findOneByOrFail(Member, { user_id: bob.user.id })
      await members.changeRole(ctx, member, 'owner')
      return members.remove(ctx, member)
    })
    const [by, and] = [ada.user.id, bob.user.id]
    expect(await entries('audited_crews')).to.deep.equal([['create', null, by]])
    expect(await entries('audited_invitations')).to.deep.equal([
      ['create', null, by],
      ['unrecorded', 'Invited again', by],
      ['create', null, by],
      ['unrecorded', 'Accepted', and],
    ])
    expect(await entries('audited_members')).to.deep.equal([
      ['create', null, by],
      ['create', null, and],
      ['update', null, by],
      ['destroy', null, by],
    ])
    expect(await entries('audited_tokens')).to.deep.equal([
      ['unrecorded', 'Seeds', null],
      ['unrecorded', 'Seeds', null],
      ['create', null, and],
      ['unrecorded', 'No longer a member', by],
    ])
    const left = await database.manager.find(Token, { order: { id: 'ASC' } })
    expect(left.map(({ user_id }) => user_id)).to.deep.equal([by, and])
    expect(left.every(({ last_used_at }) => last_used_at instanceof Date)).to.equal(true)

    await withoutHistory(database.manager, 'Old hash', async (tx) => {
      await tx.update(User, { id: by }, { password_hash: cheapHash('correct horse') })
      const user = await tx.findOneByOrFail(User, { id: by })
      await tx.update(Token, { user_id: by }, { stamp: passwordStamp(user) })
    })
    await within(ada.text, async (ctx) => {
      await rehashPassword(ctx, userIn(ctx), 'correct horse', { tokens: Token })
    })
    expect((await entries('audited_users')).at(-1)).to.deep.equal(['update', null, by])
    expect((await entries('audited_tokens')).at(-1)).to.deep.equal([
      ...['unrecorded', 'A new digest of the same password', by],
    ])
    expect(JSON.stringify(await database.manager.find(HistoryEntry)))
      .to.not.include('$scrypt')
      .and.not.include(ada.token.secret_hash)
  })

  it('has the files of a record by their ids, and lets them come and go', async () => {
    database = await open(
      await databaseWithTables('history of files', async (url) => {
        const empty = await open(url, [Item])
        const runner = empty.createQueryRunner()
        await createItemTables(runner)
        await runner.createTable(historyTable(runner))
        await runner.release()
        await empty.close()
      }),
      [Item],
    )
    const app = new App({ api: true })
    app.use(transaction(database))
    app.extend(storedFiles(database))
    app.resource(ItemsResource)
    site = await Site.open(app)
    const send = async (method: string, path: string, files: Parameters<typeof formWith>[1]) =>
      site.request(method, path, { accept: 'json', form: formWith({ name: 'Lamp' }, files) })
    const made = await send('POST', '/items', [
      ['photo', 'lamp.png', png(3, 4)],
      ['documents', 'a.txt', 'a'],
    ])
    expect(made.status, made.text).to.equal(200)
    const { id, photo } = JSON.parse(made.text)
    const changed = await send('PUT', `/items/${id}`, [
      ['photo', 'other.png', png(5, 6)],
      ['documents', 'b.txt', 'b'],
    ])
    expect(changed.status, changed.text).to.equal(200)
    expect((await site.request('DELETE', `/items/${id}`, { accept: 'json' })).status).to.equal(204)
    const [created, updated, destroyed] = await database.manager.find(HistoryEntry, { order: { id: 'ASC' } })
    expect(created?.action).to.equal('create')
    expect(updated?.changes).to.deep.equal([
      { attribute: 'photo_id', from: photo.id, to: JSON.parse(changed.text).photo.id, masked: false },
    ])
    expect(destroyed?.action).to.equal('destroy')
  })
})
