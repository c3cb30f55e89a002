import { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { hasStatus } from '../common/has-status.js'
import type { Context } from '../context.js'
import { checkBeforeCommit, separateChecks } from '../database/transactions/request-transaction.js'
import { HttpError, PreconditionFailed, ValidationErrors } from '../errors.js'
import { isWildcard } from '../http/entity-tags.js'
import { isForClient } from '../http/errors/problem.js'
import { compared, rejectUncompared } from '../http/preconditions.js'
import type { Responses } from '../http/responder.js'
import type { DeclaredRoute } from '../routing/declared-route.js'

/** Milliseconds after which the loop lets other requests run. */
const turnLength = 10

/** One call of a handler. */
export interface Call {
  /** `Line 7` or `Record 0198…`, with which the message of an error that ends the request begins. */
  place: string
  route: DeclaredRoute
  params: Record<string, string>
  body: object
  importLine?: number
}

/**
 * Calls a handler for each of many records, in the transaction of one request. Each call has a context that is derived from that of
 * the request: nothing is rendered or sent, and errors are kept.
 */
export class Calls {
  private readonly base: Context
  /** The errors with which the handler has responded. */
  private kept: ValidationErrors | undefined
  private turnBegan = performance.now()

  /**
   * @param own other properties of all calls
   * @throws PreconditionFailed (412) when the request has conditions, which cannot be about many records
   */
  constructor(
    private readonly ctx: Context,
    own: object = {},
  ) {
    const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = ctx.req.headers
    if (ifNoneMatch !== undefined || (ifMatch !== undefined && !isWildcard(ifMatch)))
      throw new PreconditionFailed(
        'No version of many records can be compared with the condition of this request.',
      )
    this.base = Object.create(ctx, {
      ...Object.getOwnPropertyDescriptors(own),
      ...Object.getOwnPropertyDescriptors(this.members()),
    }) as Context
  }

  /**
   * Calls the handler of a route.
   *
   * @returns the errors of the record; undefined if it was written
   * @throws everything else that the handler throws, and HttpError if it sets a status of 400 or more
   */
  async callForRecord(call: Call): Promise<ValidationErrors | undefined> {
    if (performance.now() - this.turnBegan > turnLength) {
      await nextTurn()
      this.turnBegan = performance.now()
    }
    const ctx = this.derive(call)
    this.kept = undefined
    // The conditions of each call are compared, not only those of the first one.
    compared.delete(this.ctx.tx)
    try {
      await call.route.handler(ctx, () => Promise.resolve())
      if (this.kept === undefined) {
        if (ctx.status >= 400)
          throw new HttpError(ctx.status, `The handler responded with the status ${ctx.status}.`)
        await checkBeforeCommit(ctx)
        rejectUncompared(ctx, this.ctx.tx)
      }
    } catch (error) {
      if (!(error instanceof ValidationErrors)) throw at(call.place, error)
      this.kept = error
    }
    compared.add(this.ctx.tx)
    if (this.kept) ctx.translateErrors(this.kept)
    return this.kept
  }

  /** Creates the context of a call. Its response is sent nowhere. */
  private derive({ route, params, body, importLine }: Call): Context {
    const { ctx } = this
    const { app, req } = this.base
    const res = new ServerResponse(req)
    res.statusCode = 404
    const derived = Object.create(this.base)
    const request = Object.assign(Object.create(ctx.request), { ctx: derived, req, body })
    const response = Object.assign(Object.create(app.response), { app, ctx: derived, req, res, request })
    Object.assign(derived, { route, params, request, response, res }, importLine && { importLine })
    separateChecks(derived)
    return derived
  }

  /** The members of the context that respond, which only set the status, and the session of the request. */
  private members(): object {
    const { ctx: requested } = this
    const keep = (errors: ValidationErrors): void => void (this.kept = errors)
    const succeed = (ctx: Context): void => void (hasStatus(ctx) || (ctx.status = 200))
    const setStatus = (status: number) =>
      function (this: Context): void {
        this.status = status
      }
    return {
      async respond(this: Context, first: Responses | ValidationErrors | number, second: Responses = {}) {
        const [status, responses] = typeof first === 'number' ? [first, second] : [undefined, first]
        const errors = responses instanceof ValidationErrors ? responses : responses.data
        if (errors instanceof ValidationErrors) keep(errors)
        if (status !== undefined) this.status = status
        else if (errors instanceof ValidationErrors) this.status = errors.status
        succeed(this)
      },
      render(this: Context) {
        succeed(this)
      },
      seeOther: setStatus(303),
      back: setStatus(302),
      redirect: setStatus(302),
      flash() {},
      get session() {
        return requested.session
      },
      set session(session) {
        requested.session = session
      },
    }
  }
}

/** Adds the place to the message of an error for the client. */
function at(place: string, error: unknown): unknown {
  if (isForClient(error)) error.message = `${place}: ${error.message}`
  return error
}
