import type { Next } from 'koa'
import type { Context, Middleware } from '../../context.js'
import type { Database } from '../../data/database.js'
import { DeclarationError, IdempotencyKeyReused } from '../../errors.js'
import type { MiddlewareDescription } from '../../resources/route-description.js'
import type { DeclaredRoute } from '../../routing/declared-route.js'
import { databaseOf } from '../transaction/transaction.js'
import { isRedirect, keepResponse, replayResponse } from './kept-response.js'
import { IdempotencyKeys } from './keys.js'
import { digestOf, hashOf, keyOf, readKey, takesKeys } from './request-key.js'

/** The options of `idempotency()`. */
export interface IdempotencyOptions {
  /**
   * Returns whom a key belongs to: the same key of another owner is another key. By default it belongs to `ctx.user`, and
   * without a user to everybody who sends the same request.
   */
  by?: (ctx: Context) => string | undefined
}

/**
 * Carries out a POST or PATCH request with an `Idempotency-Key` once, however often it is sent within 24 hours. The key is saved in
 * the transaction of the request, with its response, if the status is below 400. A repetition gets this response with
 * `Idempotent-Replayed: true`, and neither the handler nor the middleware below runs. While the first request is running, a
 * repetition waits.
 *
 * The forms of new records contain a key. A form that is sent twice creates one record.
 *
 * Requests without a key are not changed. The key begins the transaction, so register it above resources that write, and not above
 * those that hash passwords.
 *
 * @example
 * app.use(transaction(database))
 * app.use(authenticate(database, User))
 * app.use(idempotency(database))
 * @throws DeclarationError at the start, when there is no `transaction()` above it, or `authenticate()` is below it
 * @throws BadRequest (400) when the key is malformed
 * @throws IdempotencyKeyReused (422) when another request has used the key
 * @throws ResponseNotKept (409) when the response to the first request cannot be sent again
 */
export function idempotency(database: Database, options: IdempotencyOptions = {}): Middleware {
  const { by = userOf } = options
  const keys = new IdempotencyKeys(database)

  function idempotency(ctx: Context, next: Next): unknown {
    const key = keyOf(ctx)
    return key ? runOnce(ctx, readKey(key), key.isOfForm, next) : next()
  }

  async function runOnce(ctx: Context, key: string, isOfForm: boolean, next: Next): Promise<void> {
    const request = await digestOf(ctx)
    // A form that was edited is another request, whose key the browser repeats.
    const id = hashOf([by(ctx), key, isOfForm && request])
    const known = await keys.claim(ctx.tx, id, request)
    if (known && known.request !== request) throw new IdempotencyKeyReused()
    if (known) return replayResponse(ctx, known.response)
    ctx.afterCommit(() => keys.cleanUp())
    await next()
    // The transaction will be rolled back, with the key.
    if (ctx.status >= 400) return
    // A page that the form's request has rendered would be another one by now.
    if (isOfForm && !isRedirect(ctx)) await keys.forget(ctx.tx, id)
    else await keys.keep(ctx.tx, id, keepResponse(ctx))
  }

  return Object.assign(idempotency, {
    recognizesKeys: true,
    openapi: (_route: DeclaredRoute, method: string) => (takesKeys(method) ? description : {}),
    start: () => keys.start(),
    checkRoutes: async (routes: readonly DeclaredRoute[]) => {
      for (const route of routes) checkPlace(idempotency, route, database, options)
    },
    stop: () => database.close(),
  })
}

/** The id of the user of a request. */
function userOf(ctx: Context): string | undefined {
  const user: unknown = Reflect.get(ctx, 'user')
  if (user === undefined || user === null) return undefined
  const { id } = Object(user)
  if (id !== undefined && id !== null) return String(id)
  throw new TypeError(
    'ctx.user has no id, so its keys would be those of all users. Give idempotency() the "by" option.',
  )
}

/** @throws DeclarationError when the middleware could not work in its place among that of a route */
function checkPlace(
  middleware: Middleware,
  { declaredMiddleware: all, method, path }: DeclaredRoute,
  database: Database,
  { by }: IdempotencyOptions,
): void {
  const place = all.indexOf(middleware)
  if (!all.slice(0, place).some((one) => databaseOf.get(one) === database)) {
    throw new DeclarationError(
      `idempotency() of ${method} ${path} has no transaction() of its database above it, in which it could save keys. Add ` +
        'app.use(transaction(database)) above it.',
    )
  }
  const user = by ? undefined : all.slice(place).find(({ setsUser }) => setsUser)
  if (!user) return
  throw new DeclarationError(
    `idempotency() of ${method} ${path} is above ${user.name}(), but a key belongs to ctx.user. Move it below ${user.name}(), or ` +
      'give it the "by" option.',
  )
}

/** The part of the OpenAPI document of routes that take keys. */
const description: MiddlewareDescription = {
  requestHeaders: {
    'Idempotency-Key': {
      description:
        'A random key of 1 to 255 visible ASCII characters. The request is carried out once, and sending it again with the same key ' +
        'returns the same response, for 24 hours',
    },
  },
  responses: {
    400: { description: 'The request or its Idempotency-Key is malformed' },
    409: {
      description: 'Another record prevents the change, or the response of an earlier request was not kept',
    },
    422: { description: 'The content is not valid, or another request has used the Idempotency-Key' },
  },
  headers: {
    'Idempotent-Replayed': {
      description: 'Is true if the response is that of an earlier request with the same key',
    },
  },
}
