import type { Next } from 'koa'
import { bearerToken, restoreOnRetry } from '../extension.js'
import type { Context, Database, Middleware } from '../index.js'
import { passwordStamp, type Account, type AccountClass } from './account.js'
import { readBearer, findByToken, type ApiTokenClass } from './api-tokens.js'
import { currentUser, captureUser, setUser, markBearer } from './current-user.js'
import { tokenMiddleware } from './require-user.js'
import { storeClient, readSessionUser } from './sign-in.js'

/** The options of `authenticate()`. */
export interface AuthenticateOptions<User extends Account> {
  /** Whether a user may sign in: `(user) => !user.suspended`. The next request signs others out. */
  isActive?(user: User): boolean
  /** The model of bearer tokens. A request with `Authorization` is then authenticated by its token alone. */
  tokens?: ApiTokenClass
  /** Whether a session stores the address and browser of the sign-in, for `userSessions` (no). */
  keepClient?: boolean
}

/**
 * Sets `ctx.user` to the user of the session, or of the bearer token. The user is read in each request, so
 * that a deleted user is signed out by the next request. The query runs outside of the request's transaction.
 *
 * The browser does not store a page for a user (`Cache-Control: private, no-store`), so that it does not show
 * the page after the sign-out. It stores JSON and XML, and revalidates them.
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
    if (usesToken) markBearer(ctx)
    const session = !usesToken && ctx.hasSession ? readSessionUser(ctx) : undefined
    const token = usesToken ? await findByToken(database, tokens, readBearer(ctx)) : undefined
    const user = await findUser(token ? { id: token.user_id, stamp: token.stamp } : session)
    if (token) bearerToken.set(ctx, token)
    if (user && isActive(user)) setUser(ctx, user, session?.signedInAt)
    restoreOnRetry(ctx, () => captureUser(ctx))
    await next()
    if (keepClient && !usesToken && ctx.hasSession) storeClient(ctx, session)
    if (currentUser(ctx)) setCacheControl(ctx)
  }

  if (tokens) tokenMiddleware.add(authenticate)
  // Links in mails have signed tokens. Without a secret, the start fails instead of the first mail.
  return Object.assign(authenticate, {
    beforeBody: true,
    extension: { needsSecret: 'Signed tokens', setsUser: true },
  })

  /** Finds the user of a session or a token; undefined if the password or address has changed since. */
  async function findUser(login: { id: string; stamp: string } | undefined): Promise<User | undefined> {
    if (!login) return undefined
    // The compiler cannot see that every user has an id.
    const where = { id: login.id } as object
    const user = await database.read((tx) => tx.findOne(model, { where }))
    return user && passwordStamp(user) === login.stamp ? user : undefined
  }
}

/** The value of `Cache-Control` that the framework sets for responses that depend on the session. */
const sessionCacheControl = 'private, no-cache'

/** Sets `Cache-Control` for the response to a user, unless the handler has set another value. */
function setCacheControl(ctx: Context): void {
  const current = ctx.res.getHeader('Cache-Control') ?? sessionCacheControl
  if (ctx.headerSent || current !== sessionCacheControl) return
  ctx.set('Cache-Control', ctx.response.is('html') ? 'private, no-store' : sessionCacheControl)
}
