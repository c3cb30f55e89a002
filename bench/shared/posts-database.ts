import { v7 as uuidv7 } from 'uuid'
import { createDatabase, dropDatabase } from '../../src/database/engines/create-drop.js'
import { Database } from '../../src/index.js'
import { createdAt, migrations, textOf, type Posts } from './posts.js'

const server = process.env['KIT_POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres'

/** A database of PostgreSQL with the tables of examples/blog, and posts in it. */
export class PostsDatabase implements Posts {
  readonly ids: string[] = []

  private constructor(
    readonly url: string,
    private readonly database: Database,
  ) {}

  /** Creates a database on the server at `KIT_POSTGRES_URL`. */
  static async create(name: string, rows: number): Promise<PostsDatabase> {
    const url = Object.assign(new URL(server), { pathname: `/${name}` }).href
    const database = new Database({ bench: { url }, migrations: [migrations] }, 'bench')
    // An interrupted benchmark may have left it.
    await dropDatabase(database)
    await createDatabase(database)
    await database.open()
    await database.migrate()
    const posts = new PostsDatabase(url, database)
    posts.ids.push(...(await posts.insert(rows)))
    await database.query('VACUUM ANALYZE posts')
    return posts
  }

  async insert(count: number): Promise<string[]> {
    const times = Array.from({ length: count }, (_, number) => createdAt(this.ids.length + number))
    const ids = times.map((time) => uuidv7({ msecs: time }))
    const titles = times.map((_, number) => `Post ${number}`)
    await this.database.query(
      `INSERT INTO posts (id, created_at, updated_at, title, description)
       SELECT id, time, time, title, $4
       FROM unnest($1::uuid[], $2::timestamptz[], $3::text[]) AS new (id, time, title)`,
      [ids, times.map((time) => new Date(time)), titles, textOf(200)],
    )
    return ids
  }

  async reset(): Promise<void> {
    // Ids begin with the time of their creation.
    await this.database.query('DELETE FROM posts WHERE id > $1', [this.ids.at(-1)])
    await this.database.query(
      `UPDATE posts SET title = old.title, description = $3, updated_at = created_at
       FROM unnest($1::uuid[], $2::text[]) AS old (id, title)
       WHERE posts.id = old.id AND updated_at <> created_at`,
      [this.ids, this.ids.map((_, number) => `Post ${number}`), textOf(200)],
    )
    // Dead rows would slow the next round down.
    await this.database.query('VACUUM posts')
  }

  async remove(): Promise<void> {
    await this.database.close()
    await dropDatabase(this.database)
  }
}
