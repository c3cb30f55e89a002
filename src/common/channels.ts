import { channel, type Channel } from 'node:diagnostics_channel'

/** The message of `resource-kit:query`: a statement has ended. Also BEGIN, COMMIT and ROLLBACK. */
export interface QueryMessage {
  /** The statement without its values: `SELECT * FROM "posts" WHERE "id" = ?`. */
  readonly sql: string
  /** Milliseconds from the call to the result, including the wait for a connection and for locks. */
  readonly ms: number
  /** The number of rows that the statement returned or changed; undefined if it failed. */
  readonly rows?: number | undefined
  readonly engine: 'sqlite' | 'postgres' | 'mariadb'
  /** The line that ran the statement: `src/actions/posts.ts:15`. Undefined in production or if unknown. */
  readonly place?: string | undefined
  /** The problem that the database reported (`unique`, `conflict`), or the class name of the error. */
  readonly error?: string | undefined
}

/** The message of `resource-kit:transaction`: an attempt of a transaction that ran statements has ended. */
export interface TransactionMessage {
  /** `unknown` if the connection was lost during the commit. */
  readonly outcome: 'committed' | 'rolled back' | 'conflict' | 'unknown'
  /** The number of attempts before this one. */
  readonly attempt: number
  /** Milliseconds that the attempt waited for a connection and the write lock before its first statement. */
  readonly waited: number
  /** Milliseconds from the end of this wait to the end of the attempt. */
  readonly ms: number
}

/** The message of `resource-kit:render`: a template was rendered with its layout and partials, or failed. */
export interface RenderMessage {
  /** `posts/show` */
  readonly template: string
  readonly ms: number
  /** The class name of the error. */
  readonly error?: string | undefined
}

/** The message of `resource-kit:mail`: a mail was delivered to the mail server, or its delivery failed. */
export interface DeliveryMessage {
  /** `welcome` */
  readonly name: string
  readonly ms: number
  /** The class name of the error. */
  readonly error?: string | undefined
}

/** The message of `resource-kit:file`: a stored file was written, opened or varied, or failed to be. */
export interface FileMessage {
  readonly name: 'write' | 'read' | 'variant'
  readonly ms: number
  /** The class name of the error. */
  readonly error?: string | undefined
}

/** The channels of these messages. Without a subscriber, no message is created. */
export const channels = {
  query: channel('resource-kit:query'),
  transaction: channel('resource-kit:transaction'),
  render: channel('resource-kit:render'),
  mail: channel('resource-kit:mail'),
  file: channel('resource-kit:file'),
}

/**
 * Starts to measure some work. Returns the function that publishes its message, or undefined if the channel
 * has no subscriber.
 *
 * @param key the property of the message that contains the name
 */
export function measure(target: Channel, key: 'template' | 'name', name: string) {
  if (!target.hasSubscribers) return undefined
  const start = performance.now()
  return (failure?: unknown): void => {
    const error = failure === undefined ? undefined : className(failure)
    target.publish({ [key]: name, ms: performance.now() - start, error })
  }
}

/** The class name of an error. Unlike its message, it contains no values of the application. */
export function className(error: unknown): string {
  return error instanceof Error ? error.constructor.name || 'Error' : typeof error
}
