import { expect } from 'chai'
import { Column, Entity, ManyToOne, OneToMany, Tree, TreeChildren, TreeParent, type Relation } from 'typeorm'
import { Database, Model } from '../../src/index.js'
import { databaseWithTables } from '../support/databases.js'
import { failure } from '../support/failure.js'
import { Cover, Issue, Label, openTracker, Project, Task, titled } from '../support/applications/tracker.js'
import { destroyRecord, findRecord, loadRelations, saveRecord } from '../support/records.js'

@Entity('folders')
@Tree('materialized-path')
class Folder extends Model {
  @Column('varchar')
  title!: string

  @TreeParent()
  parent?: Relation<Folder> | null

  @TreeChildren()
  children?: Relation<Folder>[]
}

@Entity('orders')
class Order extends Model {
  @Column('varchar')
  title!: string

  @OneToMany(() => Line, (line) => line.order, { cascade: true })
  lines?: Relation<Line>[]
}

@Entity('order_lines')
class Line extends Model {
  @ManyToOne(() => Order, (order) => order.lines)
  order?: Relation<Order>
}

function open(url: string): Promise<Database> {
  return new Database({ test: { url, logging: false }, models: [Folder, Order, Line] }, 'test').open()
}

async function createTables(url: string): Promise<void> {
  const database = await open(url)
  await database.synchronize()
  await database.close()
}

const advice =
  ', but ctx.save and ctx.destroy write the row of one record. Save or destroy the records one after the other, ' +
  'set ids in a property with @RelationIds, or use ctx.tx.save(record) and ctx.tx.remove(record) of TypeORM.'

describe('ctx.save and ctx.destroy, which write one row,', () => {
  let database: Database

  afterEach(() => database.close())

  it('reject the records of a tree, and of a model with cascade, which ctx.tx writes', async () => {
    database = await open(await databaseWithTables('more rows', createTables))
    const tx = database.manager
    for (const [model, reason] of [
      [Folder, 'Folder is a tree'],
      [Order, 'Order.lines has `cascade`'],
    ] as const) {
      const record = Object.assign(new model(), { title: 'one' })
      expect(String(await failure(saveRecord(tx, record)))).to.equal(`NotOneRow: ${reason}${advice}`)
      await tx.save(record)
      expect(String(await failure(saveRecord(tx, record)))).to.equal(`NotOneRow: ${reason}${advice}`)
      expect(String(await failure(destroyRecord(tx, record)))).to.equal(`NotOneRow: ${reason}${advice}`)
      expect(await tx.count<Model>(model)).to.equal(1)
    }
  })

  describe('of a model with relations', () => {
    beforeEach(async () => {
      database = await openTracker()
    })

    /** Assigns a value to a relation of a stored issue, and returns the error of its save. */
    async function assign(values: Partial<Issue>): Promise<string> {
      const tx = database.manager
      const { id } = await tx.save(titled(Issue, 'first'))
      const issue = Object.assign(await findRecord(tx, Issue, id), { title: 'changed' }, values)
      const error = String(await failure(saveRecord(tx, issue)))
      expect((await findRecord(tx, Issue, id)).title).to.equal('first')
      return error
    }

    it('reject records that were assigned to a relation whose key is in other rows', async () => {
      const tx = database.manager
      const label = await tx.save(titled(Label, 'bug'))
      for (const [name, value] of Object.entries({
        labels: [label],
        tasks: [titled(Task, 'a')],
        cover: titled(Cover, 'a'),
      }))
        expect(await assign({ [name]: value })).to.equal(
          `NotOneRow: Issue.${name} was changed, whose records are other rows${advice}`,
        )
      for (const values of [{ labels: [] }, { tasks: [] }, { cover: null }])
        expect(await assign(values)).to.include('NotOneRow')
    })

    it('reject a list that was loaded and then changed', async () => {
      const tx = database.manager
      const labels = [await tx.save(titled(Label, 'bug'))]
      const { id } = await tx.save(titled(Issue, 'first', { labels }))
      const issue = await findRecord(tx, Issue, id)
      await loadRelations(tx, [issue], ['labels'])
      issue.labels?.pop()
      expect(String(await failure(saveRecord(tx, issue)))).to.include('Issue.labels was changed')
      await tx.save(issue)
      await loadRelations(tx, [issue], ['labels'])
      expect(issue.labels).to.deep.equal([])
    })

    it('reject a reference to a record that is not saved yet', async () => {
      expect(await assign({ project: titled(Project, 'new') })).to.equal(
        `NotOneRow: Issue.project contains a record that is not saved yet${advice}`,
      )
    })

    it('accept empty lists of a new record, and references', async () => {
      const tx = database.manager
      const project = await tx.save(titled(Project, 'one'))
      const values = { labels: [], tasks: [], cover: null, project, former_project: project }
      const issue = titled(Issue, 'first', values)
      expect(await saveRecord(tx, issue)).to.equal(undefined)
      const found = await findRecord(tx, Issue, issue.id)
      await loadRelations(tx, [found], ['project', 'former_project'])
      expect([found.project?.id, found.former_project?.id]).to.deep.equal([project.id, project.id])
    })
  })
})
