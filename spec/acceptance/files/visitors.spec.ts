import { expect } from 'chai'
import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  Table,
  TableForeignKey,
  type QueryRunner,
  type Relation,
} from 'typeorm'
import { pino } from 'pino'
import { requireUser } from '../../../src/auth/index.js'
import {
  HasFile,
  storedFiles,
  storedFilesTable,
  type StoredFile,
  type StoredFiles,
} from '../../../src/files/index.js'
import {
  App,
  BaseResource,
  column,
  Database,
  Model,
  nothing,
  Parent,
  Policy,
  primaryKey,
  Resource,
  Route,
  timestamps,
  transaction,
  Within,
  type Context,
  type Next,
} from '../../../src/index.js'
import { newId } from '../../../src/models/ids.js'
import { Company } from '../../support/applications/company.js'
import { Branch, open } from '../../support/applications/teams.js'
import { databaseWithTables } from '../../support/databases.js'
import { Site } from '../../support/site.js'

/** A paper on a shelf. Both belong to a user. */
@Entity('shelves')
class Shelf extends Model {
  @Column('varchar') user_id!: string
}

@Entity('papers')
class Paper extends Model {
  @Column('varchar') user_id!: string
  @Column('uuid', { nullable: true }) shelf_id!: string | null
  @HasFile() scan!: StoredFile | null
}

/** A paper without a policy, which holds for all resources of its model. */
@Entity('papers')
class Sheet extends Model {
  @Column('varchar') user_id!: string
  @HasFile() scan!: StoredFile | null
}

/** A contract of a branch of the rental company. */
@Entity('contracts')
@Within('branch')
class Contract extends Model {
  @Column('uuid') branch_id!: string
  @HasFile() scan!: StoredFile | null

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch>
}

async function createTable(runner: QueryRunner, name: string, keys: Record<string, string>): Promise<void> {
  await runner.createTable(
    new Table({
      name,
      columns: [
        primaryKey(runner),
        ...(name === 'contracts' ? [] : [column(runner, 'user_id', 'string')]),
        ...Object.keys(keys).map((key) => column(runner, key, 'uuid', { isNullable: true })),
        ...timestamps(runner),
      ],
      foreignKeys: Object.entries(keys).map(
        ([key, to]) =>
          new TableForeignKey({ columnNames: [key], referencedTableName: to, referencedColumnNames: ['id'] }),
      ),
    }),
  )
}

/** Each handler finds the record as `show` does. */
abstract class Papers extends BaseResource {
  protected find(ctx: Context): Promise<Paper> {
    return ctx.find(Paper, ctx.params['paper_id'])
  }
  override async show(ctx: Context) {
    return ctx.respond({ data: await this.find(ctx) })
  }
  @Route('GET', '/{paper_id}/files/{stored_file_id}', { responses: { 200: '*/*' } })
  async file(ctx: Context) {
    return ctx.sendFile(await this.find(ctx))
  }
}

class OwnPolicy extends Policy<Paper> {
  scope(user?: { id: string }) {
    return user ? { user_id: user.id } : nothing
  }
}

@Resource('/papers', { model: Sheet, fields: ['scan'] })
class Sheets extends Papers {
  protected override find(ctx: Context): Promise<never> {
    return ctx.find(Sheet, ctx.params['paper_id']) as Promise<never>
  }
}

@Resource('/own-papers', { model: Paper, policy: OwnPolicy, fields: ['scan'], param: 'paper_id' } as never)
class OwnPapers extends Papers {}

@Resource('/shelves', { model: Shelf, policy: OwnPolicy, fields: [] })
class Shelves extends BaseResource {}

@Resource('/papers', { model: Paper, fields: ['scan'] })
@Parent(Shelves)
class PapersOfShelf extends Papers {
  protected override async find(ctx: Context) {
    const shelf = await ctx.find(Shelf, ctx.params['shelf_id'])
    return ctx.findOneBy(Paper, { id: ctx.params['paper_id'], shelf_id: shelf.id })
  }
}

@Resource('/papers', { model: Sheet, fields: ['scan'] })
class SheetsOfUsers extends Sheets {}

function papersApp(database: Database): { app: App; files: StoredFiles } {
  const app = new App({ logger: pino({ level: 'silent' }) })
  const files = storedFiles(database)
  const setUser = (ctx: Context, next: Next) => {
    if (ctx.get('User') !== '') Object.assign(ctx, { user: { id: ctx.get('User') } })
    return next()
  }
  app.use(Object.assign(setUser, { beforeBody: true }))
  app.use(transaction(database))
  app.extend(files)
  for (const resource of [Sheets, OwnPapers, Shelves, PapersOfShelf]) app.resource(resource)
  app.group('/users', (users) => {
    users.use(requireUser())
    users.resource(SheetsOfUsers)
  })
  return { app, files }
}

describe('The files of a record', () => {
  describe('in a resource', () => {
    let site: Site
    let paper: Paper
    let other: Paper
    let shelf: Shelf

    before(async () => {
      const models = [Shelf, Paper, Sheet]
      const connect = (url: string) => new Database({ test: { url }, models }, 'test').open()
      const database = await connect(
        await databaseWithTables('papers', async (url) => {
          const made = await connect(url)
          const runner = made.createQueryRunner()
          await runner.createTable(storedFilesTable(runner))
          await createTable(runner, 'shelves', {})
          await createTable(runner, 'papers', { shelf_id: 'shelves', scan_id: 'stored_files' })
          await runner.release()
          await made.close()
        }),
      )
      const { app, files } = papersApp(database)
      site = await Site.open(app)
      const { manager } = database
      shelf = await manager.save(Object.assign(new Shelf(), { user_id: 'ann' }))
      const make = async (text: string) => {
        const { id } = await files.store(Buffer.from(text), { filename: 'scan.txt' })
        return manager.save(Object.assign(new Paper(), { user_id: 'ann', shelf_id: shelf.id, scan_id: id }))
      }
      paper = await make('of Ann')
      other = await make('another')
    })
    after(() => site.close())

    const idOf = (record: Paper) => String(Reflect.get(record, 'scan_id'))

    /** The statuses of `show` and of the file, for its owner, another user and nobody. */
    const kinds: Record<string, [path: () => string, statuses: number[]]> = {
      'that is plain': [() => '/papers', [200, 200, 200]],
      'with a policy': [() => '/own-papers', [200, 404, 404]],
      'below a record of the owner': [() => `/shelves/${shelf.id}/papers`, [200, 404, 404]],
      'in a group behind requireUser()': [() => '/users/papers', [200, 200, 401]],
    }
    for (const [kind, [path, statuses]] of Object.entries(kinds))
      it(`${kind} are shown to those who see the record`, async () => {
        for (const [index, user] of ['ann', 'bob', ''].entries()) {
          const get = (url: string) => site.get(url, { accept: 'json', headers: { user } })
          const record = `${path()}/${paper.id}`
          const [shown, file] = [await get(record), await get(`${record}/files/${idOf(paper)}`)]
          expect([shown.status, file.status], user).to.deep.equal([statuses[index], statuses[index]])
          if (file.status === 200) expect(file.text).to.equal('of Ann')
          // A visitor does not learn which files exist.
          for (const id of [idOf(other), newId()])
            expect((await get(`${record}/files/${id}`)).status).to.equal(
              file.status === 200 ? 404 : file.status,
            )
        }
      })
  })

  it('of a team are those of its members', async () => {
    const database = await open(
      await databaseWithTables('teams with files', async (url) => {
        const made = await open(url, [Contract])
        await made.migrate()
        const runner = made.createQueryRunner()
        await runner.createTable(storedFilesTable(runner))
        await createTable(runner, 'contracts', { branch_id: 'branches', scan_id: 'stored_files' })
        await runner.release()
        await made.close()
      }),
      [Contract],
    )
    const files = storedFiles(database)
    const company = await Company.open(
      {},
      (app, { CustomerPolicy }) => {
        @Resource('/contracts', { model: Contract, fields: [], policy: CustomerPolicy as never })
        class ContractsResource extends BaseResource {
          override async show(ctx: Context) {
            return ctx.respond({ data: await ctx.find(Contract, ctx.params['contract_id']) })
          }
          @Route('GET', '/{contract_id}/files/{stored_file_id}', { responses: { 200: '*/*' } })
          async file(ctx: Context) {
            return ctx.sendFile(await ctx.find(Contract, ctx.params['contract_id']))
          }
        }
        app.extend(files)
        app.resource(ContractsResource)
      },
      database,
    )
    const { owner, stranger, branch } = company
    await company.makeBranch('Bonn', stranger)
    const { id } = await files.store(Buffer.from('signed'), { filename: 'scan.txt' })
    const contract = await company.insert(Contract, { branch_id: branch.id, scan_id: id } as never)
    const path = `/contracts/${contract.id}`
    for (const [user, status] of [
      [owner, 200],
      [await company.makeMember('viewer'), 200],
      [stranger, 404],
      [undefined, 401],
    ] as const) {
      expect((await company.send(user, 'GET', path)).status).to.equal(status)
      expect((await company.send(user, 'GET', `${path}/files/${id}`)).status).to.equal(status)
    }
    await company.close()
  })
})
