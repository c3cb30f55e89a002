import { expect } from 'chai'
import { Column, Entity, JoinColumn, ManyToOne, OneToMany, Table, type Relation } from 'typeorm'
import { pino } from 'pino'
import { chainsOf, commonOf, enclosureNames, implyWithin, waysOf } from '../../src/records/within.js'
import { App, column, Database, Model, primaryKey, timestamps, transaction, Within } from '../../src/index.js'
import { countQueries } from '../support/count-queries.js'
import { databaseWithTables, newDatabase } from '../support/databases.js'
import { itOnce } from '../support/engine.js'
import { failure } from '../support/failure.js'
import { saveRecord } from '../support/records.js'

@Entity('companies')
class Company extends Model {
  @Column('varchar') name!: string
}

@Entity('offices')
@Within('company')
class Office extends Model {
  @Column('uuid') company_id!: string
  @ManyToOne(() => Company)
  @JoinColumn({ name: 'company_id' })
  company?: Relation<Company>
}

@Entity('vendors')
@Within('company')
class Vendor extends Model {
  @Column('uuid') company_id!: string
  @ManyToOne(() => Company)
  @JoinColumn({ name: 'company_id' })
  company?: Relation<Company>
}

@Entity('projects')
@Within('office')
class Project extends Model {
  @Column('uuid') office_id!: string
  @Column('uuid', { nullable: true }) vendor_id?: string | null
  @ManyToOne(() => Office)
  @JoinColumn({ name: 'office_id' })
  office?: Relation<Office>
  @ManyToOne(() => Vendor)
  @JoinColumn({ name: 'vendor_id' })
  vendor?: Relation<Vendor> | null
}

@Entity('tasks')
@Within('project', 'office')
class Task extends Model {
  @Column('uuid') project_id!: string
  @Column('uuid') office_id!: string
  @Column('uuid', { nullable: true }) vendor_id?: string | null
  @Column('uuid', { nullable: true }) before_id?: string | null
  @ManyToOne(() => Project)
  @JoinColumn({ name: 'project_id' })
  project?: Relation<Project>
  @ManyToOne(() => Office)
  @JoinColumn({ name: 'office_id' })
  office?: Relation<Office>
  @ManyToOne(() => Vendor)
  @JoinColumn({ name: 'vendor_id' })
  vendor?: Relation<Vendor> | null
  @ManyToOne(() => Task)
  @JoinColumn({ name: 'before_id' })
  before?: Relation<Task> | null
}

/** Below an office, but free to refer to anything. */
@Entity('memos')
@Within()
class Memo extends Model {
  @Column('uuid') office_id!: string
  @Column('uuid') project_id!: string
  @ManyToOne(() => Office)
  @JoinColumn({ name: 'office_id' })
  office?: Relation<Office>
  @ManyToOne(() => Project)
  @JoinColumn({ name: 'project_id' })
  project?: Relation<Project>
}

const models = [Company, Office, Vendor, Project, Task, Memo]
const KEYS: Record<string, Record<string, boolean>> = {
  companies: {},
  offices: { company_id: false },
  vendors: { company_id: false },
  projects: { office_id: false, vendor_id: true },
  tasks: { project_id: false, office_id: false, vendor_id: true, before_id: true },
  memos: { office_id: false, project_id: false },
}

async function createTables(url: string): Promise<void> {
  const database = await new Database({ test: { url } }, 'test').open()
  const runner = database.createQueryRunner()
  for (const [name, keys] of Object.entries(KEYS)) {
    const columns = Object.entries(keys).map(([key, isNullable]) =>
      column(runner, key, 'uuid', { isNullable }),
    )
    const texts = name === 'companies' ? [column(runner, 'name', 'string')] : []
    await runner.createTable(
      new Table({ name, columns: [primaryKey(runner), ...texts, ...columns, ...timestamps(runner)] }),
    )
  }
  await runner.release()
  await database.close()
}

describe('@Within(...relations)', () => {
  let database: Database

  beforeEach(async () => {
    const url = await databaseWithTables('within', createTables)
    database = await new Database({ models, test: { url } }, 'test').open()
  })

  afterEach(() => database.close())

  const insert = <T extends Model>(model: new () => T, values: Partial<T>): Promise<T> =>
    database.manager.save(Object.assign(new model(), values))
  const codesOf = async <T extends Model>(model: new () => T, values: Partial<T>) =>
    (await saveRecord(database.manager, Object.assign(new model(), values)))?.codes

  async function plant() {
    const company_id = (await insert(Company, { name: 'one' })).id
    const office = await insert(Office, { company_id })
    const office_id = office.id
    const project = await insert(Project, { office_id })
    return {
      company_id,
      office_id,
      project_id: project.id,
      vendor_id: (await insert(Vendor, { company_id })).id,
    }
  }

  it('compares the nearest records that both are in', () => {
    const names = (from: Function, to: Function) =>
      commonOf(waysOf(database.getMetadata(from)), database.getMetadata(to)).map(({ own, theirs }) =>
        [own, theirs].map(({ model, path }) => [...path.map((it) => it.key.propertyName), model.targetName]),
      )
    expect(names(Project, Vendor)).to.deep.equal([
      [
        ['office_id', 'company_id', 'Company'],
        ['company_id', 'Company'],
      ],
    ])
    expect(names(Office, Task)).to.deep.equal([
      [['Office'], ['office_id', 'Office']],
      [['Office'], ['project_id', 'office_id', 'Office']],
    ])
    expect(names(Memo, Task)).to.deep.equal([])
    expect(chainsOf(database.getMetadata(Memo))).to.deep.equal([])
  })

  it('compares the keys to the records that contain a record with each other', async () => {
    const [one, two] = [await plant(), await plant()]
    const { project_id, office_id, vendor_id } = one
    expect(await codesOf(Task, { project_id, office_id, vendor_id })).to.equal(undefined)
    const second = await insert(Office, { company_id: one.company_id })
    expect(await codesOf(Task, { project_id, office_id: second.id })).to.deep.equal({
      project_id: ['reference'],
    })
    // The offices are of two companies.
    const both = { project_id: ['reference'], office_id: ['reference'] }
    expect(await codesOf(Task, { project_id: two.project_id, office_id })).to.deep.equal(both)
    expect(await codesOf(Task, { project_id, office_id: two.office_id })).to.deep.equal(both)
  })

  it('follows several relations, on both sides', async () => {
    const [one, two] = [await plant(), await plant()]
    const { project_id, office_id, vendor_id } = one
    const other = { project_id, office_id, vendor_id: two.vendor_id }
    expect(await codesOf(Task, other)).to.deep.equal({ vendor_id: ['reference'] })
    expect(await codesOf(Project, { office_id, vendor_id })).to.equal(undefined)
    expect(await codesOf(Project, { office_id, vendor_id: two.vendor_id })).to.deep.equal({
      vendor_id: ['reference'],
    })
    const theirs = await insert(Task, { project_id: two.project_id, office_id: two.office_id })
    expect(await codesOf(Task, { project_id, office_id, before_id: theirs.id })).to.deep.equal({
      before_id: ['reference'],
    })
  })

  it('lets records refer to anything without relations', async () => {
    const [one, two] = [await plant(), await plant()]
    implyWithin(Memo, ['office_id'])
    expect(await codesOf(Memo, { office_id: one.office_id, project_id: two.project_id })).to.equal(undefined)
  })

  it('reports a parent that does not exist, or whose key is not an id, at its own key', async () => {
    const { office_id, vendor_id, project_id } = await plant()
    const malformed = await codesOf(Task, { project_id, office_id: 'nothing' })
    expect(malformed).to.deep.include({ project_id: ['reference'] })
    for (const key of [office_id, 'nothing'])
      expect(await codesOf(Project, { office_id: key, vendor_id })).to.deep.equal(
        key === office_id ? undefined : { office_id: ['reference'] },
      )
  })

  itOnce('adds no statement for a model without such references', async () => {
    const { company_id, office_id, project_id } = await plant()
    const records = [
      Object.assign(new Company(), { name: 'two' }),
      Object.assign(new Vendor(), { company_id }),
      Object.assign(new Memo(), { office_id, project_id }),
    ]
    for (const record of records)
      expect(await countQueries(database, () => saveRecord(database.manager, record))).to.equal(1)
    const changed = Object.assign(records[0]!, { name: 'three' })
    // The fast path compares the record with its row.
    expect(await countQueries(database, () => saveRecord(database.manager, changed))).to.equal(2)
  })

  itOnce('tells its names without a database', () => {
    implyWithin(Task, ['vendor_id'])
    expect([Task, Memo, Company].map(enclosureNames)).to.deep.equal([['project', 'office'], [], []])
  })
})

describe('A wrong @Within', () => {
  async function startWith(...wrong: Function[]): Promise<string> {
    const database = new Database(
      { models: [...models, ...wrong], test: { url: await newDatabase() } },
      'test',
    )
    const app = new App({ logger: pino({ level: 'silent' }) }).use(transaction(database))
    const error = await failure(app.start())
    await app.close()
    return (error as Error).message
  }

  itOnce('stops the start if it names no required relation to one record', async () => {
    @Entity('crates')
    class Crate extends Model {
      @Column('uuid', { nullable: true }) office_id?: string | null
      @ManyToOne(() => Office)
      @JoinColumn({ name: 'office_id' })
      office?: Relation<Office> | null
      @OneToMany(() => Part, (part) => part.crate)
      parts?: Relation<Part>[]
    }
    @Entity('parts')
    class Part extends Model {
      @Column('uuid') crate_id!: string
      @ManyToOne(() => Crate)
      @JoinColumn({ name: 'crate_id' })
      crate?: Relation<Crate>
    }
    // The compiler rejects such names.
    const declare = Within as (...names: string[]) => (target: Function) => void
    declare('office')(Crate)
    expect(await startWith(Crate, Part)).to.equal(
      '@Within of Crate names "office", whose key "office_id" is nullable. Make the key required, or remove the relation from @Within.',
    )
    declare('parts')(Crate)
    expect(await startWith(Crate, Part)).to.equal(
      '@Within of Crate names "parts", which is not a relation to one record with a key. Name a @ManyToOne relation whose key is a property.',
    )
    declare('ofice')(Crate)
    expect(await startWith(Crate, Part)).to.equal(
      '@Within of Crate names "ofice", which is not a relation. Did you mean "office"?',
    )
  })

  itOnce('stops the start if records would be in themselves', async () => {
    @Entity('hens')
    class Hen extends Model {
      @Column('uuid') egg_id!: string
      @ManyToOne(() => Egg)
      @JoinColumn({ name: 'egg_id' })
      egg?: Relation<Egg>
    }
    @Entity('eggs')
    class Egg extends Model {
      @Column('uuid') hen_id!: string
      @ManyToOne(() => Hen)
      @JoinColumn({ name: 'hen_id' })
      hen?: Relation<Hen>
    }
    Within('egg')(Hen)
    implyWithin(Egg, ['hen_id'])
    expect(await startWith(Hen, Egg)).to.equal(
      'The records of Hen would be in themselves: Hen is within Egg is within Hen. ' +
        'Remove a relation from @Within. If a model has none, because the paths of resources imply it, add @Within().',
    )
  })
})
