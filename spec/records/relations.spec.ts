import { expect } from 'chai'
import { Entity, ManyToOne, PrimaryColumn, type EntityManager, type Relation } from 'typeorm'
import { Database } from '../../src/database/database.js'
import { newId } from '../../src/models/ids.js'
import { Model } from '../../src/models/model.js'
import { type RelationOf } from '../../src/records/relations.js'
import { countQueries } from '../support/count-queries.js'
import { newDatabase } from '../support/databases.js'
import { failure } from '../support/failure.js'
import {
  Cover,
  Issue,
  Label,
  Note,
  openTracker,
  Project,
  Task,
  titled,
} from '../support/applications/tracker.js'
import { findRecord, loadRelations, paginate, saveRecord } from '../support/records.js'

describe('loadRelations(tx, records, relations)', () => {
  let database: Database
  let tx: EntityManager

  beforeEach(async () => {
    database = await openTracker()
    tx = database.manager
  })
  afterEach(() => database.close())

  /** Two labels, two projects, and an issue with both labels in the first project. */
  async function anIssue() {
    const labels = [await tx.save(titled(Label, 'bug')), await tx.save(titled(Label, 'urgent'))]
    const projects = [await tx.save(titled(Project, 'one')), await tx.save(titled(Project, 'two'))] as const
    const { id } = await tx.save(titled(Issue, 'first', { labels, project_id: projects[0].id }))
    return { id, labels, projects }
  }

  const titles = (records?: { title: string }[]) => records?.map(({ title }) => title)
  const links = async (): Promise<number> => {
    const [row] = await database.query('SELECT COUNT(*) AS count FROM issues_labels_labels')
    return Number(row.count)
  }

  it('loads every kind of relation with one query each', async () => {
    const { id, labels, projects } = await anIssue()
    const other = await tx.save(titled(Issue, 'other', { former_project: projects[1] }))
    const lone = await tx.save(titled(Issue, 'lone'))
    await tx.save([titled(Cover, 'cover', { issue: other })])
    await tx.save([titled(Task, 'a', { issue: other }), titled(Task, 'b', { issue: other })])
    const issues = [await findRecord(tx, Issue, id), await findRecord(tx, Issue, other.id)]
    issues.push(await findRecord(tx, Issue, lone.id))

    const names = ['project', 'former_project', 'labels', 'cover', 'tasks']
    for (const name of names)
      expect(await countQueries(database, () => loadRelations(tx, issues, [name]))).to.equal(1)
    expect(issues.map(({ project }) => project?.title ?? null)).to.deep.equal(['one', null, null])
    expect(issues.map(({ former_project }) => former_project?.title ?? null)).to.deep.equal([
      null,
      'two',
      null,
    ])
    expect(issues.map(({ labels }) => titles(labels))).to.deep.equal([['bug', 'urgent'], [], []])
    expect(issues.map(({ cover }) => cover?.title ?? null)).to.deep.equal([null, 'cover', null])
    expect(issues.map(({ tasks }) => titles(tasks))).to.deep.equal([[], ['a', 'b'], []])

    const found = await findRecord(tx, Label, labels[0]?.id)
    await loadRelations(tx, [found], ['issues'])
    expect(titles(found.issues)).to.deep.equal(['first'])
    const [cover] = await tx.find(Cover)
    await loadRelations(tx, cover ? [cover] : [], ['issue'])
    expect(cover?.issue?.title).to.equal('other')
    expect(issues[2]?.project).to.equal(null)
  })

  it('sets the same object in all records that refer to the same one', async () => {
    const { labels } = await anIssue()
    await tx.save(titled(Issue, 'second', { labels }))
    const issues = await tx.find(Issue)
    await loadRelations(tx, issues, ['labels'])
    expect(issues[0]?.labels?.[0]).to.equal(issues[1]?.labels?.[0])
  })

  it('queries nothing for records without a reference', async () => {
    const issue = new Issue()
    expect(await countQueries(database, () => loadRelations(tx, [issue], ['project', 'labels']))).to.equal(0)
    expect([issue.project, issue.labels]).to.deep.equal([null, []])
    expect(await countQueries(database, () => loadRelations(tx, [], ['project']))).to.equal(0)
  })

  it('loads the relations of more records than a statement can have parameters', async () => {
    const { id, projects } = await anIssue()
    const first = await findRecord(tx, Issue, id)
    const issues = [
      ...Array.from({ length: 66_000 }, () => titled(Issue, 'other', { id: newId(), project_id: newId() })),
      first,
    ]
    await loadRelations(tx, issues, ['project', 'labels'])
    expect(first.project?.title).to.equal(projects[0].title)
    expect(titles(first.labels)).to.deep.equal(['bug', 'urgent'])
    expect([issues[0]?.project, issues[0]?.labels]).to.deep.equal([null, []])
  })

  it("throws UnknownRelation for a name that isn't a relation", async () => {
    expect(String(await failure(loadRelations(tx, [new Issue()], ['title'])))).to.equal(
      'UnknownRelation: Issue has no relation "title" with a foreign key of one column. ' +
        'Declare it with @ManyToOne, @OneToOne, @OneToMany or @ManyToMany.',
    )
  })

  it('throws UnknownRelation for a key of several columns', async () => {
    @Entity()
    class Seat {
      @PrimaryColumn()
      row!: number

      @PrimaryColumn()
      number!: number
    }
    @Entity()
    class Ticket extends Model {
      @ManyToOne(() => Seat)
      seat?: Relation<Seat>
    }
    const theater = await new Database(
      { test: { url: await newDatabase() }, models: [Seat, Ticket] },
      'test',
    ).open()
    try {
      const error = await failure(loadRelations(theater.manager, [new Ticket()], ['seat']))
      expect(String(error)).to.include('Ticket has no relation "seat" with a foreign key of one column.')
    } finally {
      await theater.close()
    }
  })

  it('accepts only names of relations, which the compiler checks', () => {
    // A missing or an additional name does not compile.
    const names: Record<RelationOf<Issue>, true> & Record<RelationOf<Issue[]>, true> = {
      project: true,
      former_project: true,
      labels: true,
      cover: true,
      tasks: true,
    }
    const relations = database.getMetadata(Issue).relations.map(({ propertyName }) => propertyName)
    expect(Object.keys(names)).to.have.members(relations)
  })

  describe('does not change the result of a save', () => {
    it('a list keeps its links', async () => {
      const { id } = await anIssue()
      const issue = await findRecord(tx, Issue, id)
      await loadRelations(tx, [issue], ['labels'])
      issue.title = 'changed'
      expect(await saveRecord(tx, issue)).to.equal(undefined)
      expect(await links()).to.equal(2)
      expect(titles(issue.labels)).to.deep.equal(['bug', 'urgent'])
    })

    it('a list keeps links that were added in the meantime, from either side', async () => {
      const { id, labels } = await anIssue()
      const issue = await findRecord(tx, Issue, id)
      const label = await findRecord(tx, Label, labels[0]?.id)
      await loadRelations(tx, [issue], ['labels'])
      await loadRelations(tx, [label], ['issues'])
      const third = await tx.save(titled(Label, 'late'))
      await tx.createQueryBuilder().relation(Issue, 'labels').of(id).add(third.id)
      await tx.save(titled(Issue, 'second', { labels }))
      issue.title = 'changed'
      label.title = 'changed'
      await saveRecord(tx, issue)
      await saveRecord(tx, label)
      expect(await links()).to.equal(5)
    })

    it('a changed key is written, and the previously loaded record is dropped', async () => {
      const { id, projects } = await anIssue()
      const issue = await findRecord(tx, Issue, id)
      await loadRelations(tx, [issue], ['project'])
      issue.project_id = projects[1].id
      expect(await saveRecord(tx, issue)).to.equal(undefined)
      expect((await findRecord(tx, Issue, id)).project_id).to.equal(projects[1].id)
      expect(issue.project).to.equal(undefined)

      issue.project_id = null
      await loadRelations(tx, [issue], ['project'])
      issue.project_id = projects[0].id
      await saveRecord(tx, issue)
      expect((await findRecord(tx, Issue, id)).project_id).to.equal(projects[0].id)
    })

    it('an assigned record is written', async () => {
      const { id, projects } = await anIssue()
      const issue = await findRecord(tx, Issue, id)
      await loadRelations(tx, [issue], ['project', 'former_project'])
      issue.project = projects[1]
      issue.former_project = projects[0]
      await saveRecord(tx, issue)
      await loadRelations(tx, [issue], ['former_project'])
      expect((await findRecord(tx, Issue, id)).project_id).to.equal(projects[1].id)
      expect(issue.former_project?.id).to.equal(projects[0].id)
    })

    it('a record that could not be saved keeps the loaded relations', async () => {
      const { id } = await anIssue()
      const issue = await findRecord(tx, Issue, id)
      await loadRelations(tx, [issue], ['project', 'labels'])
      issue.project_id = '0193b6a2-7c3e-7000-8000-00000000000a'
      expect((await saveRecord(tx, issue))?.messages).to.deep.equal({
        project_id: ['Project does not exist.'],
      })
      expect(issue.project?.title).to.equal('one')
      expect(issue.labels).to.have.length(2)
    })

    it('TypeORM does not change it either, with a page and its relations, or with an eager relation', async () => {
      const { id, projects } = await anIssue()
      const page = await paginate(tx, Issue, {}, { relations: { project: true, labels: true } })
      const [listed] = page.records
      if (!listed) throw new Error('the page is empty')
      expect(listed.project?.title).to.equal('one')
      listed.project_id = projects[1].id
      await saveRecord(tx, listed)
      expect((await findRecord(tx, Issue, id)).project_id).to.equal(projects[1].id)
      expect(await links()).to.equal(2)

      const other = await tx.save(titled(Issue, 'other'))
      const { id: noteId } = await tx.save(titled(Note, 'note', { issue_id: id }))
      const note = await findRecord(tx, Note, noteId)
      expect(note.issue?.title).to.equal('first')
      note.issue_id = other.id
      await saveRecord(tx, note)
      expect((await findRecord(tx, Note, noteId)).issue?.title).to.equal('other')
    })
  })
})
