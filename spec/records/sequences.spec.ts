import { expect } from 'chai'
import type { EntityManager } from 'typeorm'
import { attributesOf } from '../../src/models/attributes/attributes.js'
import type { Database } from '../../src/database/database.js'
import { bind } from '../../src/http/binder.js'
import { engine } from '../support/engine.js'
import { Random } from '../support/random.js'
import { openTickets, Person, Tag, Ticket } from '../support/applications/tickets.js'
import { findRecord, loadRelations, paginate, saveRecord } from '../support/records.js'

/** The number of sequences: a few with `npm test`, half as many on a server, or `KIT_FUZZ` divided by ten. */
const total = Number(process.env['KIT_FUZZ'] ?? (engine === 'sqlite' ? 400 : 200)) / 10
/** The seed of a failed run, which is printed with the failure. */
const seed = process.env['KIT_FUZZ_SEED'] ? Number(process.env['KIT_FUZZ_SEED']) : Date.now() % 2 ** 31
const steps = 16

const columns = ['title', 'assignee_id', 'author_id'] as const
const lists = ['tag_ids', 'watcher_ids'] as const

type Columns = Pick<Ticket, (typeof columns)[number]>
type Lists = Pick<Ticket, (typeof lists)[number]>

/** An object of the ticket, as a request has it, and what a save has to write. */
interface Copy {
  ticket: Ticket
  columns: Columns
  /** The lists that were bound or assigned since the last save. */
  lists: Partial<Lists>
  /** The relations that were assigned since the last save. Their key is not set as well. */
  assigned: Set<string>
}

describe(`${total} sequences of load, bind, assign and save (KIT_FUZZ_SEED=${seed})`, function () {
  this.timeout(300_000 + total * 500)
  let database: Database
  let tx: EntityManager
  let tags: Tag[]
  let people: Person[]

  before(async () => {
    database = await openTickets()
    tx = database.manager
    const make = <T extends Tag | Person>(model: new () => T) =>
      ['a', 'b', 'c', 'd'].map((name) => Object.assign(new model(), { name }))
    tags = await tx.save(make(Tag))
    people = await tx.save(make(Person))
  })
  after(() => database.close())

  it('keep exactly the columns and the links that were last written', async () => {
    for (let number = 0; number < total; number++) {
      const log: string[] = []
      await new Sequence(new Random(seed + number), log).run().catch((error: unknown) => {
        throw new Error(`KIT_FUZZ_SEED=${seed + number}: ${log.join(', ')}`, { cause: error })
      })
    }
  })

  /** Copies of one ticket that are changed in turn. */
  class Sequence {
    private copies: Copy[] = []
    private stored!: Columns & Lists

    constructor(
      private readonly random: Random,
      private readonly log: string[],
    ) {}

    async run(): Promise<void> {
      const ticket = Object.assign(new Ticket(), { title: 'new', assignee_id: null, author_id: null })
      const created = { ticket, columns: columnsOf(ticket), lists: {}, assigned: new Set<string>() }
      if (this.random.chance(0.5)) this.bind(created)
      this.stored = { ...created.columns, tag_ids: [], watcher_ids: [] }
      await this.save(created)
      this.copies = [created, await this.find(ticket.id)]
      for (let step = 0; step < steps; step++) await this.step(this.random.below(2))
    }

    private async step(index: number): Promise<void> {
      const copy = this.copies[index]
      if (!copy) return
      this.log.push(String(index))
      const work = this.random.of([
        async () => void (this.copies[index] = await this.find(copy.ticket.id)),
        () => this.load(copy),
        async () => this.bind(copy),
        async () => this.assign(copy),
        async () => this.assignRelation(copy),
        () => this.save(copy),
        () => this.save(copy),
      ])
      await work()
    }

    private async find(id: string): Promise<Copy> {
      this.log.push('find')
      const ticket = this.random.chance(0.5)
        ? await findRecord(tx, Ticket, id)
        : (await paginate(tx, Ticket, {}, { where: { id } })).records[0]
      if (!ticket) throw new Error('it is not found')
      return { ticket, columns: columnsOf(ticket), lists: {}, assigned: new Set() }
    }

    private async load({ ticket, assigned }: Copy): Promise<void> {
      const relations = ['assignee', 'author', 'tags', 'watchers'].filter(
        (name) => !assigned.has(name) && this.random.chance(0.5),
      )
      this.log.push(`load ${relations.join(' ')}`)
      await loadRelations(tx, [ticket], relations)
    }

    private bind(copy: Copy): void {
      const body = this.values(copy)
      this.log.push(`bind ${Object.keys(body).join(' ')}`)
      bind(copy.ticket, attributesOf(Ticket), { body, isJson: true, isForm: false })
      this.note(copy, body)
    }

    private assign(copy: Copy): void {
      const values = this.values(copy)
      this.log.push(`assign ${Object.keys(values).join(' ')}`)
      Object.assign(copy.ticket, values)
      this.note(copy, values)
    }

    /** Assigns related records instead of keys and ids, or changes a list. */
    private assignRelation({ ticket, columns, lists, assigned }: Copy): void {
      const person = this.random.chance(0.2) ? null : this.random.of(people as [Person])
      if (columns.assignee_id === ticket.assignee_id && !assigned.has('assignee_id')) {
        this.log.push('assign assignee')
        assigned.add('assignee')
        ticket.assignee = person
        columns.assignee_id = person?.id ?? null
      }
      if (lists.tag_ids) {
        this.log.push('push')
        const { id } = this.random.of(tags as [Tag])
        ticket.tag_ids.push(id)
        lists.tag_ids = [...new Set([...lists.tag_ids, id])].toSorted()
      }
    }

    private async save(copy: Copy): Promise<void> {
      this.log.push('save')
      expect(await saveRecord(tx, copy.ticket)).to.equal(undefined)
      expect(columnsOf(copy.ticket)).to.deep.equal(copy.columns)
      Object.assign(this.stored, copy.columns, copy.lists)
      for (const name of lists)
        if (copy.lists[name]) expect(copy.ticket[name]).to.deep.equal(copy.lists[name])
      copy.lists = {}
      copy.assigned.clear()
      const found = await findRecord(tx, Ticket, copy.ticket.id)
      const { tag_ids, watcher_ids } = found
      // As text, so that the message of a failure contains all values.
      expect(JSON.stringify({ ...columnsOf(found), tag_ids, watcher_ids })).to.equal(
        JSON.stringify(this.stored),
      )
    }

    /** New values of some columns and lists. The key of a relation that was assigned keeps its value. */
    private values({ assigned }: Copy): Partial<Columns & Lists> {
      const values: Columns & Lists = {
        title: `title ${this.random.below(3)}`,
        assignee_id: this.random.chance(0.2) ? null : this.random.of(people as [Person]).id,
        author_id: this.random.chance(0.2) ? null : this.random.of(people as [Person]).id,
        tag_ids: idsOf(tags.filter(() => this.random.chance(0.5))),
        watcher_ids: idsOf(people.filter(() => this.random.chance(0.5))),
      }
      const isFree = (name: string) => !(name === 'assignee_id' && assigned.has('assignee'))
      return Object.fromEntries(
        Object.entries(values).filter(([name]) => isFree(name) && this.random.chance(0.4)),
      )
    }

    private note(copy: Copy, values: Partial<Columns & Lists>): void {
      for (const name of columns)
        if (name in values) {
          copy.assigned.add(name)
          Object.assign(copy.columns, { [name]: values[name] })
        }
      for (const name of lists) if (values[name]) copy.lists[name] = idsOf(values[name].map((id) => ({ id })))
    }
  }
})

function columnsOf({ title, assignee_id, author_id }: Ticket): Columns {
  return { title, assignee_id, author_id }
}

function idsOf(records: readonly { id: string }[]): string[] {
  return records.map(({ id }) => id).toSorted()
}
