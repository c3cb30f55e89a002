import { expect } from 'chai'
import { Column, Entity, JoinColumn, ManyToOne } from 'typeorm'
import { columnTypes } from '../../../src/models/attributes/kinds.js'
import { App, Database, Model, transaction, type Context } from '../../../src/index.js'
import { HistoryEntry } from '../../../src/history/index.js'
import { captureLog } from '../../../src/testing/index.js'
import { newDatabase } from '../../support/databases.js'
import { Site } from '../../support/site.js'

@Entity('owners')
class Owner extends Model {}

/** The table as the migrations have created it. */
@Entity('gauges')
class OldGauge extends Model {}

@Entity('gauges')
class Gauge extends Model {
  @Column(columnTypes.int)
  rank!: number

  @Column(columnTypes.enum, { enum: ['draft', 'public'], nullable: true })
  state!: string | null

  @Column('uuid', { nullable: true })
  owner_id!: string | null

  @ManyToOne(() => Owner)
  @JoinColumn({ name: 'owner_id' })
  owner?: Owner | null
}

@Entity('dials')
class Dial extends Model {
  @Column(columnTypes.text)
  title!: string

  @Column('uuid')
  maker_id!: string

  @ManyToOne(() => Owner)
  @JoinColumn({ name: 'maker_id' })
  maker?: Owner
}

/** The names of its columns are too long for the name of a migration. */
@Entity('parcels')
class Parcel extends Model {
  @Column(columnTypes.string)
  recipient_name!: string

  @Column(columnTypes.string)
  recipient_postal_code!: string
}

/** The table as the migrations have created it. */
@Entity('parcels')
class OldParcel extends Model {}

describe('A query of a model without a migration', () => {
  const handlers: Record<string, (ctx: Context) => Promise<unknown>> = {
    'select a column': (ctx) => ctx.findAll(Gauge),
    'insert a column': (ctx) => ctx.tx.insert(Gauge, { rank: 1 }),
    'select a table': (ctx) => ctx.findAll(Dial),
    'select columns with long names': (ctx) => ctx.findAll(Parcel),
    'select the entries of a history': (ctx) => ctx.findAll(HistoryEntry),
    'neither a model': (ctx) => ctx.tx.query('SELECT * FROM nowhere'),
  }
  const commands: Record<string, string | undefined> = {
    'select a column':
      'npx kit generate migration add_rank_and_state_and_owner_id_to_gauges rank:int state:nulls.enum:draft,public owner:nulls.references',
    'select columns with long names':
      'npx kit generate migration add_columns_to_parcels recipient_name:string recipient_postal_code:string',
    'select a table': 'npx kit generate migration create_dials title:text maker:references:owner',
  }
  commands['select the entries of a history'] = 'npx kit generate migration create_history_entries'
  commands['insert a column'] = commands['select a column']

  /** The details of the errors of a request. */
  async function detail(env: string, what: string): Promise<string> {
    const url = await newDatabase()
    const old = await new Database({ test: { url }, models: [Owner, OldGauge, OldParcel] }, 'test').open()
    await old.synchronize()
    await old.close()
    const settings = { [env]: { url }, models: [Owner, Gauge, Dial, Parcel, HistoryEntry] }
    const app = new App({ api: true, logger: captureLog().logger, env })
    app.use(transaction(new Database(settings, env)))
    app.get('/', async (ctx) => void (ctx.body = await handlers[what]?.(ctx)))
    const site = await Site.open(app)
    try {
      const response = await site.get('/', { accept: 'application/json' })
      expect(response.status).to.equal(500)
      return String(response.json.detail)
    } finally {
      await site.close()
    }
  }

  for (const what of Object.keys(handlers)) {
    it(`has an error with the command that generates it, in development: ${what}`, async () => {
      const text = await detail('development', what)
      expect(text).to.match(/rank|recipient|dials|history_entries|nowhere/)
      expect(/ Generate the migration: (.*)$/.exec(text)?.[1]).to.equal(commands[what])
    })
  }

  it('has only the error of the database in a test', async () => {
    expect(await detail('test', 'select a column')).not.to.contain('Generate the migration')
  })
})
