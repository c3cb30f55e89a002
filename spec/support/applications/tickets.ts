import { Column, Entity, JoinColumn, JoinTable, ManyToMany, ManyToOne, type Relation } from 'typeorm'
import { Database, Model, Present, RelationIds } from '../../../src/index.js'
import { databaseWithTables } from '../databases.js'

/** A ticket with two relations to one model, and two many-to-many relations to another. */
@Entity('tickets')
export class Ticket extends Model {
  @Column('varchar')
  @Present()
  title!: string

  @Column('uuid', { nullable: true })
  assignee_id!: string | null

  @ManyToOne(() => Person)
  @JoinColumn({ name: 'assignee_id' })
  assignee?: Relation<Person> | null

  @Column('uuid', { nullable: true })
  author_id!: string | null

  @ManyToOne(() => Person)
  @JoinColumn({ name: 'author_id' })
  author?: Relation<Person> | null

  @ManyToMany(() => Tag, { onDelete: 'CASCADE' })
  @JoinTable({
    name: 'tickets_tags',
    joinColumn: { name: 'ticket_id' },
    inverseJoinColumn: { name: 'tag_id' },
  })
  tags?: Relation<Tag[]>

  @RelationIds('tags')
  tag_ids!: string[]

  @ManyToMany(() => Person, (person) => person.watched)
  @JoinTable({
    name: 'tickets_watchers',
    joinColumn: { name: 'ticket_id' },
    inverseJoinColumn: { name: 'watcher_id' },
  })
  watchers?: Relation<Person[]>

  @RelationIds('watchers')
  watcher_ids!: string[]
}

@Entity('tags')
export class Tag extends Model {
  @Column('varchar')
  name!: string
}

@Entity('people')
export class Person extends Model {
  @Column('varchar')
  name!: string

  @ManyToMany(() => Ticket, (ticket) => ticket.watchers)
  watched?: Relation<Ticket[]>

  /** The ids of the side that does not own the table. */
  @RelationIds('watched')
  watched_ids!: string[]
}

/** A database of tickets with its tables. */
export async function openTickets(): Promise<Database> {
  return open(await databaseWithTables('tickets', createTables))
}

function open(url: string): Promise<Database> {
  const models = [Ticket, Tag, Person]
  return new Database({ test: { url, logging: false }, models }, 'test').open()
}

async function createTables(url: string): Promise<void> {
  const database = await open(url)
  await database.synchronize()
  await database.close()
}
