import {
  Column,
  DeleteDateColumn,
  Entity,
  JoinTable,
  ManyToMany,
  type MigrationInterface,
  type QueryRunner,
  type Relation,
} from 'typeorm'
import {
  App,
  BaseResource,
  Database,
  errors,
  idempotency,
  idempotencyKeysTable,
  Model,
  Present,
  RelationIds,
  Resource,
  Route,
  transaction,
  type Context,
} from '../../../src/index.js'
import { History, HistoryEntry } from '../../../src/history/index.js'
import { databaseWithTables } from '../databases.js'

@Entity('claim_labels')
export class ClaimLabel extends Model {
  @Column('varchar') name!: string
}

/** A claim with a history and a trash, and without a version. */
@Entity('claims')
@History()
export class Claim extends Model {
  @Column('varchar') @Present() title!: string
  @Column('decimal', { precision: 12, scale: 2, nullable: true }) amount!: string | null

  @ManyToMany(() => ClaimLabel, { onDelete: 'CASCADE' })
  @JoinTable({
    name: 'claims_labels',
    joinColumn: { name: 'claim_id' },
    inverseJoinColumn: { name: 'label_id' },
  })
  labels?: Relation<ClaimLabel[]>

  @RelationIds('labels') label_ids!: string[]
  @DeleteDateColumn() deleted_at!: Date | null
}

/** The pause between the saves of a request that changes two claims. */
export const behavior = { between: async (): Promise<void> => undefined }

@Resource('/claims', { model: Claim, fields: ['title', 'amount', 'label_ids'] })
class ClaimsResource extends BaseResource {
  override async create(ctx: Context) {
    if (ctx.query['first'] !== undefined) {
      await ctx.save(ctx.bind(new Claim()))
      await behavior.between()
    }
    return this.save(ctx, new Claim())
  }

  override async update(ctx: Context) {
    const claim = await ctx.find(Claim, ctx.params['claim_id'])
    if (ctx.query['fails'] === 'savepoint')
      await ctx.tx
        .transaction(async () => {
          const other = await ctx.find(Claim, claim.id)
          await ctx.save(Object.assign(other, { title: 'undone' }))
          throw new Error('The savepoint is undone.')
        })
        .catch(() => undefined)
    const { then } = ctx.query
    if (typeof then !== 'string') return this.save(ctx, claim)
    await ctx.save(ctx.bind(claim))
    await behavior.between()
    const other = await ctx.find(Claim, then)
    await ctx.save(Object.assign(other, { title: `${claim.title} and then` }))
    return ctx.respond({ data: other })
  }

  override async destroy(ctx: Context) {
    await ctx.destroy(await ctx.find(Claim, ctx.params['claim_id']))
    ctx.status = 204
  }

  @Route('POST', '/{claim_id}/restore')
  async restore(ctx: Context) {
    const claim = await ctx.find(Claim, ctx.params['claim_id'], { trashed: true })
    const wrong = await ctx.restore(claim)
    return wrong ? ctx.respond(wrong) : ctx.respond({ data: claim })
  }

  private async save(ctx: Context, claim: Claim) {
    const wrong = await ctx.save(ctx.bind(claim))
    if (ctx.query['fails'] === 'error') throw new Error('The request fails after its save.')
    if (ctx.query['fails'] === 'conflict') throw new errors.HttpError(409, 'no')
    return wrong ? ctx.respond(wrong) : ctx.respond({ data: claim })
  }
}

class CreateKeys1795200000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.createTable(idempotencyKeysTable(runner))
  }

  async down(runner: QueryRunner) {
    await runner.dropTable('idempotency_keys')
  }
}

/** Opens a database of claims. */
export function openClaimsAt(url: string): Promise<Database> {
  const settings = { url, logging: false, acquireTimeout: 60_000 }
  const models = [Claim, ClaimLabel, HistoryEntry]
  return new Database({ test: settings, models, migrations: [CreateKeys1795200000000] }, 'test').open()
}

/** The url of a database with the tables of claims, which are empty. */
export function claimsDatabase(): Promise<string> {
  return databaseWithTables('claims', async (url) => {
    const database = await openClaimsAt(url)
    await database.synchronize()
    await database.migrate()
    await database.close()
  })
}

/** An API of claims with keys. */
export function claimsApp(database: Database): App {
  const app = new App({ api: true })
  app.use(transaction(database))
  app.use(idempotency(database))
  app.resource(ClaimsResource)
  return app
}
