import type { Next } from 'koa'
import { restoreOnRetry } from '../extension.js'
import type { Context, Database, Middleware } from '../index.js'
import { passwordStamp, type Account, type AccountClass } from './account.js'
import { bearerOf, findByToken, type ApiTokenClass } from './api-tokens.js'
import { currentUser, keepUser, setUser, useBearer } from './current-user.js'
import { acceptsTokens } from './require-user.js'
import { recordClient, userOfSession } from './sign-in.js'

/** The options of `authenticate()`. */
export interface AuthenticateOptions<User extends Account> {
  /** Whether a user may sign in, for example `(user) => !user.suspended`. Others are out with their next request. */
  isActive?(user: User): boolean
  /** The model of bearer tokens. A request with `Authorization` is then authenticated by its token alone. */
  tokens?: ApiTokenClass
  /** Whether a session keeps the address and the browser from which the user signed in, for `userSessions` (no). */
  keepClient?: boolean
}

/**
 * Sets `ctx.user` to the user of the session, or of the bearer token. The user is read in each request, outside of the
 * request's transaction, so that a deleted user is out with the next request.
 *
 * A page for a user is not stored by the browser (`Cache-Control: private, no-store`), so that it isn't shown again after
 * the sign-out. JSON and XML are revalidated.
 *
 * @example app.use(authenticate(database, User))
 */
export function authenticate<User extends Account>(
  database: Database,
  model: AccountClass<User>,
  options: AuthenticateOptions<User> = {},
): Middleware {
  const { tokens, isActive = () => true, keepClient = false } = options

  async function authenticate(ctx: Context, next: Next): Promise<void> {
    const usesToken = tokens && ctx.get('Authorization') !== ''
    if (usesToken) useBearer(ctx)
    const session = !usesToken && ctx.hasSession ? userOfSession(ctx) : undefined
    const token = usesToken ? await findByToken(database, tokens, bearerOf(ctx)) : undefined
    const user = await userOf(token ? { id: token.user_id, stamp: token.stamp } : session)
    if (user && isActive(user)) setUser(ctx, user, session?.signedInAt)
    restoreOnRetry(ctx, () => keepUser(ctx))
    await next()
    if (keepClient && !usesToken && ctx.hasSession) recordClient(ctx, session)
    if (currentUser(ctx)) keepPrivate(ctx)
  }

  if (tokens) acceptsTokens.add(authenticate)
  return Object.assign(authenticate, { beforeBody: true, needsSecret: 'Signed tokens', setsUser: true })

  /** The user that a session or a token names, unless the password has changed since. */
  async function userOf(named: { id: string; stamp: string } | undefined): Promise<User | undefined> {
    if (!named) return undefined
    // TypeORM cannot see that every user has an id.
    const where = { id: named.id } as object
    const user = await database.read((tx) => tx.findOne(model, { where }))
    return user && passwordStamp(user) === named.stamp ? user : undefined
  }
}

/** The value that middleware below may have set, because the response depends on the session. */
const ofSessions = 'private, no-cache'

function keepPrivate(ctx: Context): void {
  const chosen = ctx.res.getHeader('Cache-Control') ?? ofSessions
  if (ctx.headerSent || chosen !== ofSessions) return
  ctx.set('Cache-Control', ctx.response.is('html') ? 'private, no-store' : ofSessions)
}
