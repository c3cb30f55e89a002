import { Column, Entity, JoinColumn, JoinTable, ManyToMany, ManyToOne, OneToMany, OneToOne } from 'typeorm'
import type { Relation } from 'typeorm'
import { Database } from '../../../src/database/database.js'
import { Model } from '../../../src/models/model.js'
import { databaseWithTables } from '../databases.js'

/** A model with a relation of every kind. */
@Entity('issues')
export class Issue extends Model {
  @Column('varchar')
  title!: string

  @Column('uuid', { nullable: true })
  project_id!: string | null

  @ManyToOne(() => Project, (project) => project.issues)
  @JoinColumn({ name: 'project_id' })
  project?: Relation<Project> | null

  /** A relation whose key is not a property. */
  @ManyToOne(() => Project)
  former_project?: Relation<Project> | null

  @ManyToMany(() => Label, (label) => label.issues)
  @JoinTable()
  labels?: Relation<Label>[]

  @OneToOne(() => Cover, (cover) => cover.issue)
  cover?: Relation<Cover> | null

  @OneToMany(() => Task, (task) => task.issue)
  tasks?: Relation<Task>[]
}

@Entity('projects')
export class Project extends Model {
  @Column('varchar')
  title!: string

  @OneToMany(() => Issue, (issue) => issue.project)
  issues?: Relation<Issue>[]
}

@Entity('labels')
export class Label extends Model {
  @Column('varchar')
  title!: string

  @ManyToMany(() => Issue, (issue) => issue.labels)
  issues?: Relation<Issue>[]
}

@Entity('covers')
export class Cover extends Model {
  @Column('varchar')
  title!: string

  @OneToOne(() => Issue, (issue) => issue.cover)
  @JoinColumn()
  issue?: Relation<Issue> | null
}

@Entity('tasks')
export class Task extends Model {
  @Column('varchar')
  title!: string

  @ManyToOne(() => Issue, (issue) => issue.tasks)
  issue?: Relation<Issue> | null
}

/** A model whose relation is loaded with every record. */
@Entity('notes')
export class Note extends Model {
  @Column('varchar')
  title!: string

  @Column('uuid', { nullable: true })
  issue_id!: string | null

  @ManyToOne(() => Issue, { eager: true })
  @JoinColumn({ name: 'issue_id' })
  issue?: Relation<Issue> | null
}

/** A database of issues and related records, with its tables. */
export async function openTracker(): Promise<Database> {
  return open(await databaseWithTables('tracker', createTables))
}

function open(url: string): Promise<Database> {
  const models = [Issue, Project, Label, Cover, Task, Note]
  return new Database({ test: { url, logging: false }, models }, 'test').open()
}

async function createTables(url: string): Promise<void> {
  const database = await open(url)
  await database.synchronize()
  await database.close()
}

/** A new record with this title and these values, not saved yet. */
export function titled<T extends Model & { title: string }>(
  model: new () => T,
  title: string,
  values: Partial<T> = {},
): T {
  return Object.assign(new model(), { title }, values)
}
