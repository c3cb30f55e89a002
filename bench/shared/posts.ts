/** The posts that a server has: in a file of SQLite, or in a database of PostgreSQL. */
export interface Posts {
  /** The server's `DATABASE_URL`. */
  readonly url: string
  /** The ids of the posts that are there between the rounds. */
  readonly ids: readonly string[]
  /** Inserts posts, and returns their ids. */
  insert(count: number): string[] | Promise<string[]>
  /** Undoes what a round has written. */
  reset(): void | Promise<void>
  /** Removes the database. */
  remove(): void | Promise<void>
}

/** The migrations of examples/blog, which create the tables. */
export const migrations = `${import.meta.dirname}/../../../examples/blog/dist/migrations/*.js`

/** The time at which the post at a position was created, in milliseconds. */
export function createdAt(position: number): number {
  return Date.UTC(2026, 0, 1) + position * 1000
}

/** A text of so many characters. */
export function textOf(length: number): string {
  const words = 'the quick brown fox jumps over the lazy dog & says "hello" to everybody who is there '
  return words.repeat(Math.ceil(length / words.length)).slice(0, length)
}
