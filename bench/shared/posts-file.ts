import { rmSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { v7 as uuidv7 } from 'uuid'
import { Database } from '../../src/index.js'
import { createdAt, migrations, textOf, type Posts } from './posts.js'

/** A SQLite file with the tables of examples/blog, and posts in it. */
export class PostsFile implements Posts {
  readonly url: string
  readonly ids: string[] = []
  private readonly database: Sqlite.Database
  private newest = 0

  private constructor(
    private readonly path: string,
    private readonly textLength: number,
  ) {
    this.url = `sqlite:${path}`
    this.database = new Sqlite(path, { timeout: 10_000 })
    this.database.pragma('synchronous = OFF')
  }

  /**
   * Makes the file.
   *
   * @param textLength the characters of a post's description
   */
  static async create(path: string, rows: number, textLength = 200): Promise<PostsFile> {
    removeFiles(path)
    const database = new Database({ bench: { url: `sqlite:${path}` }, migrations: [migrations] }, 'bench')
    await database.open()
    await database.migrate()
    await database.close()
    const file = new PostsFile(path, textLength)
    for (const id of file.insert(rows)) file.ids.push(id)
    file.newest = Number(file.database.prepare('SELECT max(rowid) FROM posts').pluck().get())
    return file
  }

  insert(count: number): string[] {
    const insert = this.database.prepare('INSERT INTO posts VALUES (?, ?, ?, ?, ?)')
    const columns = this.database.prepare('SELECT * FROM posts').columns()
    const ids: string[] = []
    this.database.transaction(() => {
      for (let number = 0; number < count; number++) {
        const time = createdAt(this.ids.length + number)
        const id = uuidv7({ msecs: time })
        const date = new Date(time).toISOString().replace('T', ' ').slice(0, -1)
        const values: Record<string, unknown> = {
          id,
          title: `Post ${number}`,
          description: textOf(this.textLength),
          created_at: date,
          updated_at: date,
        }
        insert.run(columns.map(({ name }) => values[name]))
        ids.push(id)
      }
    })()
    return ids
  }

  reset(): void {
    this.database.prepare('DELETE FROM posts WHERE rowid > ?').run(this.newest)
    const restore = `UPDATE posts SET title = 'Post ' || (rowid - 1), description = ?, updated_at = created_at
      WHERE updated_at <> created_at`
    this.database.prepare(restore).run(textOf(this.textLength))
  }

  remove(): void {
    this.database.close()
    removeFiles(this.path)
  }
}

/** The files of a SQLite database in WAL mode. */
function removeFiles(path: string): void {
  for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true })
}
