import type Koa from 'koa'
import type { Logger } from 'pino'
import { deleteSecret, setUnsavedSecret } from './csrf-token.js'
import { markPrivate } from '../http/private-responses.js'
import { PerRequest } from '../common/per-request.js'
import { secretOfUnknown } from './session-store.js'

/** The values that an application keeps in a session. */
export type SessionContent = Record<string, unknown>

/** The members of koa-session's own session that are used here. */
interface KoaSession {
  content?: unknown
  isNew: boolean
  save(): Promise<void> | undefined
  regenerate(): Promise<void> | undefined
}

/** The members of a request's context that sessions and flash messages need. */
export interface KoaContext extends Pick<Koa.Context, 'method' | 'vary' | 'headerSent'> {
  log: Logger
}

interface SessionState {
  content: SessionContent
  /** null after the session has been ended. */
  of: KoaSession | null
}

/**
 * `ctx.session` of an application: a plain object that koa-session stores as one value. Its keys have no meaning to
 * koa-session, whose own session would fail on `toJSON` or `__proto__`, and lose `_name`.
 */
export class SessionContents {
  private readonly states = new PerRequest<SessionState>()
  /** The initial content of each request's session as JSON; undefined if there was none. */
  private readonly found = new PerRequest<string | undefined>()
  private readonly renewed = new WeakSet<object>()
  private readonly ended = new WeakSet<object>()
  private readonly read: (this: unknown) => KoaSession | null
  private readonly write: (this: unknown, value: object | null) => void

  /**
   * Replaces the `session` that koa-session has put on a context.
   *
   * @param check throws if a content cannot be saved
   * @param ending is called for a request that ends its session
   */
  constructor(
    context: Koa['context'],
    private readonly check: (content: SessionContent) => unknown,
    private readonly ending: (ctx: KoaContext) => unknown,
  ) {
    // koa-session defines both without types.
    const { get, set } = Object.getOwnPropertyDescriptor(context, 'session') as Required<PropertyDescriptor>
    this.read = get
    this.write = set
    const read = (ctx: KoaContext) => this.of(ctx)
    const replace = (ctx: KoaContext, value: SessionContent | null) => this.replace(ctx, value)
    const renew = (ctx: KoaContext) => this.renew(ctx)
    Object.defineProperties(context, {
      session: {
        get(this: KoaContext) {
          return read(this)
        },
        set(this: KoaContext, value: SessionContent | null) {
          replace(this, value)
        },
        configurable: true,
      },
      renewSession: {
        value(this: KoaContext) {
          renew(this)
        },
        configurable: true,
      },
    })
  }

  /** The content of a request's session. A value that is set after the session was ended begins a new one. */
  of(ctx: KoaContext): SessionContent {
    const session = this.read.call(ctx)
    const state = this.states.get(ctx)
    if (state && state.of === session) return state.content
    markPrivate(ctx)
    const content = bare(session?.content)
    if (session) {
      if (!this.found.has(ctx)) this.begin(ctx, session, content)
      session.content = content
    }
    this.states.set(ctx, { content, of: session })
    return content
  }

  /** Whether a request has read or replaced its session. */
  isUsed(ctx: KoaContext): boolean {
    return this.found.has(ctx)
  }

  /**
   * Restores the initial content of the session, because the request failed. An ended session stays ended. `ctx.session`
   * still contains the request's changes, for the error page of development.
   */
  undo(ctx: KoaContext): void {
    if (!this.found.has(ctx)) return
    const found = this.foundBy(ctx)
    const shown = bare({ ...this.of(ctx), ...found })
    this.renewed.delete(ctx)
    if (this.ended.has(ctx)) this.write.call(ctx, null)
    else this.write.call(ctx, found ? { content: found } : {})
    this.states.set(ctx, { content: shown, of: this.read.call(ctx) })
  }

  /**
   * Takes a snapshot of a request's session.
   *
   * @returns a function that restores it before the request is retried
   */
  takeSnapshot(ctx: KoaContext): () => void {
    const state = this.states.get(ctx)
    const noted = state && JSON.stringify(state.content)
    const isRenewed = this.renewed.has(ctx)
    const isEnded = this.ended.has(ctx)

    return () => {
      if (!this.found.has(ctx)) return
      const content = noted === undefined ? this.foundBy(ctx) : JSON.parse(noted)
      if (!isRenewed) this.renewed.delete(ctx)
      if (!isEnded) this.ended.delete(ctx)
      this.write.call(ctx, content ? { content } : {})
      this.states.delete(ctx)
    }
  }

  /** Checks that a session can be saved. An unchanged session was saved before and needs no check. */
  checkContent(ctx: KoaContext): void {
    const content = this.states.get(ctx)?.content
    if (content && JSON.stringify(content) !== this.found.get(ctx)) this.check(content)
  }

  /** Prepares the session for saving after the request: an empty one is removed, a renewed one gets a new id. */
  async prepareSave(ctx: KoaContext): Promise<void> {
    if (!this.states.has(ctx)) return
    this.checkContent(ctx)
    const content = this.of(ctx)
    const isEmpty = Object.keys(content).length === 0
    if (this.read.call(ctx) === null && !isEmpty) this.replace(ctx, content)
    const session = this.read.call(ctx)
    if (!session) return
    if (isEmpty) delete session.content
    if (this.renewed.has(ctx) && !(session.isNew && isEmpty)) await session.regenerate()
  }

  private foundBy(ctx: object): SessionContent | undefined {
    const found = this.found.get(ctx)
    return found === undefined ? undefined : JSON.parse(found)
  }

  private begin(ctx: KoaContext, session: KoaSession, content: SessionContent): void {
    this.found.set(ctx, session.content === undefined ? undefined : JSON.stringify(content))
    const secret = secretOfUnknown(ctx)
    if (secret) setUnsavedSecret(content, secret)
  }

  private renew(ctx: KoaContext): void {
    deleteSecret(this.of(ctx))
    this.renewed.add(ctx)
  }

  private replace(ctx: KoaContext, value: SessionContent | null): void {
    if (typeof value !== 'object')
      throw new TypeError(
        `Set ctx.session to an object, or to null to end the session, not to ${String(value)}.`,
      )
    // The previous session is kept for `undo`.
    this.of(ctx)
    if (value === null) {
      this.ended.add(ctx)
      this.ending(ctx)
    }
    // A new session begins after the end, and the id of the ended one is not used again.
    else if (this.read.call(ctx) === null) this.renewed.add(ctx)
    this.write.call(ctx, value && { content: bare(value) })
  }
}

/** Copies an object without its prototype, so that `__proto__` is an ordinary key. */
function bare(value: unknown): SessionContent {
  const content: SessionContent = Object.create(null)
  return typeof value === 'object' && value !== null ? Object.assign(content, value) : content
}
