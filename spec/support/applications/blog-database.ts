import { MaxLength } from 'class-validator'
import { Column, Entity, JoinColumn, ManyToOne, Table } from 'typeorm'
import type { MigrationInterface, QueryRunner, Relation } from 'typeorm'
import { column, primaryKey, timestamps } from '../../../src/database/columns.js'
import { Database } from '../../../src/database/database.js'
import type { DatabaseSettings } from '../../../src/database/database.js'
import { Model } from '../../../src/models/model.js'
import { Present } from '../../../src/models/validation/validation.js'
import { databaseWithTables } from '../databases.js'

@Entity('posts')
export class Post extends Model {
  @Present()
  @MaxLength(80)
  @Column('varchar', { unique: true })
  title!: string

  @Column('text', { nullable: true })
  description?: string | null
}

@Entity('comments')
export class Comment extends Model {
  @Column('text')
  body!: string

  @Column('uuid')
  post_id!: string

  @ManyToOne(() => Post)
  @JoinColumn({ name: 'post_id' })
  post?: Relation<Post>
}

export class CreateBlog1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'posts',
        columns: [
          primaryKey(runner),
          column(runner, 'title', 'string', { isUnique: true }),
          column(runner, 'description', 'text', { isNullable: true }),
          ...timestamps(runner),
        ],
      }),
    )
    await runner.createTable(
      new Table({
        name: 'comments',
        columns: [
          primaryKey(runner),
          column(runner, 'body', 'text'),
          column(runner, 'post_id', 'uuid'),
          ...timestamps(runner),
        ],
        foreignKeys: [
          { columnNames: ['post_id'], referencedTableName: 'posts', referencedColumnNames: ['id'] },
        ],
      }),
    )
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('comments')
    await runner.dropTable('posts')
  }
}

/** A migration whose file has been edited: another class with the same name. */
export function edited(migration: typeof CreateBlog1700000000000): new () => MigrationInterface {
  const again = class extends migration {}
  Object.defineProperty(again, 'name', { value: migration.name })
  return again
}

/** A database of posts and comments, open and migrated: a new one, or that at this url. */
export async function openBlogDatabase(
  url?: string,
  settings: Omit<DatabaseSettings, 'url'> = {},
): Promise<Database> {
  const database = blogDatabase(url ?? (await databaseWithTables('blog', migrateBlog)), settings)
  await database.open()
  if (url) await database.migrate()
  return database
}

async function migrateBlog(url: string): Promise<void> {
  const database = await openBlogDatabase(url)
  await database.close()
}

/** The same, not open yet. Its errors are expected, so nothing is logged. */
export function blogDatabase(url: string, settings: Omit<DatabaseSettings, 'url'> = {}): Database {
  return new Database(
    {
      test: { url, logging: false, ...settings },
      models: [Post, Comment],
      migrations: [CreateBlog1700000000000],
    },
    'test',
  )
}

/** A new post, not saved yet. */
export function newPost(title: string): Post {
  return Object.assign(new Post(), { title })
}

/** The titles of all posts, the oldest first. */
export async function titlesOf(database: Database): Promise<string[]> {
  const posts = await database.manager.find(Post, { order: { id: 'ASC' } })
  return posts.map(({ title }) => title)
}
