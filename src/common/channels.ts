import { channel } from 'node:diagnostics_channel'
import { TemplateNotFound } from '../errors.js'

/** A statement has ended: the message of the channel `resource-kit:query`. Statements that begin or end transactions count. */
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

/** An attempt of a request's transaction has ended: the message of the channel `resource-kit:transaction`. */
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

/** A template was rendered: the message of the channel `resource-kit:render`. Its layout and partials are included. */
export interface RenderMessage {
  /** `posts/show` */
  readonly template: string
  readonly ms: number
  /** The class of the error. */
  readonly error?: string | undefined
}

/** A mail was delivered to the mail server, or not: the message of the channel `resource-kit:mail`. */
export interface DeliveryMessage {
  /** The name of its template: `welcome`. */
  readonly name: string
  readonly ms: number
  /** The class of the error. */
  readonly error?: string | undefined
}

/** The channels on which the framework publishes what it has done. Without a subscriber, no message is made. */
export const channels = {
  query: channel('resource-kit:query'),
  transaction: channel('resource-kit:transaction'),
  render: channel('resource-kit:render'),
  mail: channel('resource-kit:mail'),
}

/** Renders a template, and publishes it. A template that does not exist has no name, because its name may be a parameter. */
export function publishRender(name: string, render: () => string): string {
  const start = performance.now()
  let problem: string | undefined
  try {
    return render()
  } catch (error) {
    problem = className(error)
    throw error
  } finally {
    const template = problem === TemplateNotFound.name ? '…' : name
    channels.render.publish({ template, ms: performance.now() - start, error: problem })
  }
}

/** Delivers a mail, and publishes whether that has succeeded. */
export async function publishMail(name: string, deliver: () => Promise<void>): Promise<void> {
  if (!channels.mail.hasSubscribers) return deliver()
  const start = performance.now()
  let problem: string | undefined
  try {
    await deliver()
  } catch (error) {
    problem = className(error)
    throw error
  } finally {
    channels.mail.publish({ name, ms: performance.now() - start, error: problem })
  }
}

/** The class of an error, which is never a value. */
export function className(error: unknown): string {
  return error instanceof Error ? error.constructor.name || error.name : typeof error
}
