import { channel, type Channel } from 'node:diagnostics_channel'

/** A statement has ended: `resource-kit:query`. The beginning and the end of a transaction are statements, too. */
export interface QueryMessage {
  /** The statement without its values: `SELECT * FROM "posts" WHERE "id" = ?`. */
  readonly sql: string
  /** Milliseconds from the call to the result, including the wait for a connection and for locks. */
  readonly ms: number
  /** The number of rows that it has returned or changed; undefined if it has failed. */
  readonly rows?: number | undefined
  readonly engine: 'sqlite' | 'postgres' | 'mariadb'
  /** The line of the application that ran it: `src/actions/posts.ts:15`. Undefined in production, and if no line is known. */
  readonly place?: string | undefined
  /** The problem that the database has reported (`unique`, `conflict`), or the class of the error. */
  readonly error?: string | undefined
}

/** An attempt of a request's transaction has ended: `resource-kit:transaction`. */
export interface TransactionMessage {
  /** `unknown` if the connection was lost during the commit. */
  readonly outcome: 'committed' | 'rolled back' | 'conflict' | 'unknown'
  /** The number of attempts before this one. */
  readonly attempt: number
  /** Milliseconds until the first statement could run: it waited for a connection and the write lock. */
  readonly waited: number
  /** Milliseconds from there to the end. */
  readonly ms: number
}

/** The template `posts/show` was rendered, with its layout and partials, or failed with an error of this class: `resource-kit:render`. */
export interface RenderMessage {
  readonly template: string
  readonly ms: number
  readonly error?: string | undefined
}

/** The mail `welcome` was delivered to the mail server, or failed with an error of this class: `resource-kit:mail`. */
export interface DeliveryMessage {
  readonly name: string
  readonly ms: number
  readonly error?: string | undefined
}

/** The channels on which the framework publishes what it has done. Without a subscriber, no message is made. */
export const channels = {
  query: channel('resource-kit:query'),
  transaction: channel('resource-kit:transaction'),
  render: channel('resource-kit:render'),
  mail: channel('resource-kit:mail'),
}

/** Begins to measure work with a name. Returns the function that publishes its end; undefined if nobody listens. */
export function measure(to: Channel, key: 'template' | 'name', name: string) {
  if (!to.hasSubscribers) return undefined
  const start = performance.now()
  return (failure?: unknown): void => {
    const error = failure === undefined ? undefined : className(failure)
    to.publish({ [key]: name, ms: performance.now() - start, error })
  }
}

/** The class of an error, which is never a value. */
export function className(error: unknown): string {
  return error instanceof Error ? error.constructor.name || 'Error' : typeof error
}
