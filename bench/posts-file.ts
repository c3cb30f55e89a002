import { rmSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { v7 as uuidv7 } from 'uuid'
import { Database } from '../src/index.js'

const migrations = join(import.meta.dirname, '../../examples/blog/dist/migrations/*.js')

/** The time at which the post at a position was created, in milliseconds. */
export function createdAt(position: number): number {
  return Date.UTC(2026, 0, 1) + position * 1000
}

/** A SQLite file with the tables of examples/blog, and posts in it. */
export class PostsFile {
  /** The ids of the posts that are there between the rounds. */
  readonly ids: string[] = []
  private readonly database: Sqlite.Database
  private newest = 0

  private constructor(
    readonly path: string,
    private readonly textLength: number,
  ) {
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

  /** Inserts posts, and returns their ids. */
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

  /** Undoes what a round has written. */
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

function textOf(length: number): string {
  const words = 'the quick brown fox jumps over the lazy dog & says "hello" to everybody who is there '
  return words.repeat(Math.ceil(length / words.length)).slice(0, length)
}

/** The files of a SQLite database in WAL mode. */
function removeFiles(path: string): void {
  for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true })
}
