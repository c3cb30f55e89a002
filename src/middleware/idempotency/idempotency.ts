import type { Next } from 'koa'
import { IDEMPOTENT_METHODS } from '../../common/methods.js'
import { keyOwner } from '../../common/request-owner.js'
import type { Context, Middleware } from '../../context.js'
import type { Database } from '../../database/database.js'
import { transactionOf } from '../../database/transactions/request-transaction.js'
import { DeclarationError, IdempotencyKeyReused } from '../../errors.js'
import type { MiddlewareDescription } from '../../resources/route-description.js'
import type { DeclaredRoute } from '../../routing/declared-route.js'
import { isRedirect, serializeResponse, replayResponse } from './kept-response.js'
import { IdempotencyKeys } from './keys.js'
import { digestRequest, hash, findKey, readKey } from './request-key.js'
import { Turns } from './turns.js'

/** The options of `idempotency()`. */
export interface IdempotencyOptions {
  /** Returns the owner of a key: by default the id of `ctx.user`. Those without an owner share keys. */
  by?: (ctx: Context) => string | undefined
}

/**
 * Carries out a POST or PATCH request with an `Idempotency-Key` once, however often it is sent within 24
 * hours. Its transaction saves the key with the response, if the status is below 400. A repetition returns
 * this response with `Idempotent-Replayed: true`; while the first request is running, it waits, in the same
 * process without a connection. The forms of new records contain a key.
 *
 * Register it below `transaction()` and `authenticate()`. The key begins the transaction, so resources that
 * hash passwords belong above it.
 *
 * @example app.use(idempotency(database))
 * @throws DeclarationError at the start, when it is in another place
 * @throws BadRequest (400) when the key is malformed
 * @throws ServiceUnavailable (503) when the first request with the key takes longer than `acquireTimeout`
 * @throws IdempotencyKeyReused (422) when another request has used the key
 * @throws ResponseNotKept (409) when the response to the first request cannot be sent again
 */
export function idempotency(database: Database, { by }: IdempotencyOptions = {}): Middleware {
  const keys = new IdempotencyKeys(database)
  const turns = new Turns(database.acquireTimeout)

  function idempotency(ctx: Context, next: Next): unknown {
    const key = findKey(ctx)
    return key ? runOnce(ctx, readKey(key.sent), key.isFromForm, next) : next()
  }

  async function runOnce(ctx: Context, key: string, isFromForm: boolean, next: Next): Promise<void> {
    const request = await digestRequest(ctx)
    // A form that was edited is another request, although its browser repeats the key.
    const id = hash([
      (by ?? userOf)(ctx),
      key,
      isFromForm && request,
      ...(keyOwner.has(ctx) ? [keyOwner.get(ctx)] : []),
    ])
    const { tx } = ctx
    const transaction = transactionOf(ctx)
    if (transaction) await turns.take(id, transaction)
    const previous = await keys.claim(tx, id, request)
    if (previous && previous.request !== request) throw new IdempotencyKeyReused()
    if (previous?.response) return replayResponse(ctx, previous.response)
    ctx.afterCommit(() => keys.cleanUp())
    await next()
    // The transaction will be rolled back, with the key.
    if (ctx.status >= 400) return
    // The page that a form shows without a redirect, such as the results of a search, is not stored.
    if (isFromForm && !isRedirect(ctx)) await keys.delete(id, ctx.tx)
    else await keys.update(id, { response: serializeResponse(ctx) }, ctx.tx)
  }

  return Object.assign(idempotency, {
    openapi: (_route: DeclaredRoute, method: string) =>
      IDEMPOTENT_METHODS.includes(method) ? {} : description,
    extension: {
      recognizesKeys: true,
      start: () => keys.start(),
      checkRoutes: async (routes: readonly DeclaredRoute[]) => routes.forEach(checkPlace),
      stop: () => keys.stop(),
    },
  })

  function checkPlace({ declaredMiddleware: middleware, method, path }: DeclaredRoute): void {
    const place = middleware.indexOf(idempotency)
    const name = `idempotency() of ${method} ${path}`
    if (!middleware.slice(0, place).some((fn) => Reflect.get(fn, 'database') === database))
      throw new DeclarationError(`${name} needs transaction() of the same database above it, to save keys.`)
    const user = by ? undefined : middleware.slice(place).find(({ extension }) => extension?.setsUser)
    const advice = `Declare it below ${user?.name}(), or give it the "by" option.`
    if (user)
      throw new DeclarationError(`${name} is above ${user.name}(), but a key belongs to ctx.user. ${advice}`)
  }
}

/** The id of the user of a request. */
function userOf(ctx: Context): string | undefined {
  const user: unknown = Reflect.get(ctx, 'user') ?? undefined
  const id: unknown = Object(user).id
  if (user === undefined || typeof id === 'string' || typeof id === 'number') return id?.toString()
  throw new TypeError(
    'ctx.user has no id by which its keys differ from others. Give idempotency() the "by" option.',
  )
}

/** The part of the OpenAPI document of requests that take keys. */
const description: MiddlewareDescription = {
  requestHeaders: {
    'Idempotency-Key': { description: 'A random key. With the same key, the request is carried out once' },
  },
  responses: {
    400: { description: 'The request or its key is malformed' },
    409: {
      description: 'Another record prevents the change, or the response to the first request was not kept',
    },
    422: { description: 'The content is not valid, or another request has used the key' },
  },
  headers: {
    'Idempotent-Replayed': { description: '`true` if the key was known: this is the first response' },
  },
}
