import type { EntityManager } from 'typeorm'
import { hasTransaction, inTransaction, readSession, storedSessionId, Unauthorized } from '../extension.js'
import { type Context, type Database, RecordNotFound } from '../index.js'
import { passwordStamp, type Account } from './account.js'
import { browserName } from './browser-name.js'
import { currentUser } from './current-user.js'
import { sessionKeys, signOut } from './sign-in.js'

/** The options of `userSessions()`. */
export interface UserSessionsOptions {
  /** The name of the table of `databaseSessions()` (`sessions`). */
  table?: string
}

/** A session of the user who has signed in. */
export interface UserSession {
  /** A hash of the id in the cookie. It does not give access to the session. */
  id: string
  /** Whether it is the session of this request. */
  is_current: boolean
  /** The browser and the system: `Firefox, Linux`; empty if it is not known. */
  browser: string
  /** The address of the client at the sign-in; null if it is not known. */
  ip: string | null
  signed_in_at: Date
  /** The time of the last use, which is updated at most once an hour; for the current session, now. */
  last_used_at: Date
}

/** The sessions of the user who has signed in. */
export interface UserSessions {
  /** Lists the sessions that have not ended, at most 100, in descending order of their last use. */
  list(ctx: Context): Promise<UserSession[]>
  /**
   * Ends a session. Ending the current one signs the user out.
   *
   * @throws RecordNotFound (404) if the user has no such session
   */
  end(ctx: Context, id: string | undefined): Promise<UserSession>
  /** Ends all sessions except the current one. */
  endOthers(ctx: Context): Promise<void>
}

/** A row of the table, as the driver returns it. */
interface Row {
  id: string
  content: string
  /** In milliseconds since 1970. Some drivers return a `bigint` column as a string. */
  used_at: string | number
}

/** The maximum number of sessions in a list. */
const maxSessions = 100

/**
 * Lists and ends the sessions of a user, which `databaseSessions(database)` stores. If `authenticate` has the
 * `keepClient` option, each session contains the browser and the address of its sign-in.
 *
 * @example
 * const sessions = userSessions(database)
 * app.get('/account/sessions', async (ctx) => ctx.respond({ data: await sessions.list(ctx) }))
 */
export function userSessions(
  database: Database,
  { table = 'sessions' }: UserSessionsOptions = {},
): UserSessions {
  /** Finds all sessions, or only the one with an id. */
  async function find(ctx: Context, tx: EntityManager, id?: string): Promise<UserSession[]> {
    const user = signedInUser(ctx)
    const sessions = tx
      .createQueryBuilder()
      .select(['session.id AS id', 'session.content AS content', 'session.used_at AS used_at'])
      .from(table, 'session')
      .where('session.user_id = :user AND session.expires_at > :now', { user: user.id, now: Date.now() })
      .orderBy('session.used_at', 'DESC')
      .limit(maxSessions)
    if (id !== undefined) sessions.andWhere('session.id = :id', { id })
    const rows = await sessions.getRawMany<Row>()
    return rows.flatMap((row) => readRow(ctx, row, user) ?? [])
  }

  /** Reads in the request's transaction, because one that has begun may hold the only connection. */
  function list(ctx: Context): Promise<UserSession[]> {
    if (hasTransaction(ctx)) return inTransaction(ctx, ({ tx }) => find(ctx, tx))
    return database.read((tx) => find(ctx, tx))
  }

  // The default is an id that no session has: without an id, `find` would return all sessions.
  function end(ctx: Context, id = ''): Promise<UserSession> {
    return inTransaction(ctx, async ({ tx }) => {
      const [session] = await find(ctx, tx, id)
      if (!session) throw new RecordNotFound('Session')
      if (session.is_current) signOut(ctx)
      else await remove(ctx, 'id = :id', { id })
      return session
    })
  }

  function endOthers(ctx: Context): Promise<void> {
    return inTransaction(ctx, () => remove(ctx, 'id <> :current', { current: storedSessionId(ctx) ?? '' }))
  }

  async function remove(ctx: Context, condition: string, values: object): Promise<void> {
    const query = ctx.tx.createQueryBuilder().delete().from(table)
    const user = signedInUser(ctx).id
    await query.where(`user_id = :user AND ${condition}`, { user, ...values }).execute()
  }

  return { list, end, endOthers }
}

/** @throws Unauthorized (401) when nobody has signed in */
function signedInUser(ctx: Context): Account {
  const user = currentUser(ctx)
  if (!user) throw new Unauthorized('Session')
  return user
}

/** Reads the session of a row; undefined if a change of the account has ended it, or it is unreadable. */
function readRow(ctx: Context, { id, content, used_at }: Row, user: Account): UserSession | undefined {
  // `Object` returns an empty object for a value that is missing.
  const values = Object(readSession(content)?.['content'])
  if (values[sessionKeys.stamp] !== passwordStamp(user)) return undefined
  const { ip, user_agent } = Object(values[sessionKeys.client])
  const is_current = id === storedSessionId(ctx)
  return {
    id,
    is_current,
    browser: browserName(String(user_agent ?? '')),
    ip: typeof ip === 'string' ? ip : null,
    signed_in_at: new Date(Number(values[sessionKeys.time])),
    last_used_at: is_current ? new Date() : new Date(Number(used_at)),
  }
}
