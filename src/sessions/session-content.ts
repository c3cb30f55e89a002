import type Koa from 'koa'
import { restoreFlash } from '../http/flash.js'

/** What an application keeps in a session. */
export type SessionContent = Record<string, unknown>

/** The members of koa-session's own session that are used here. */
interface KoaSession {
  content?: unknown
  isNew: boolean
  save(): Promise<void> | undefined
  regenerate(): Promise<void> | undefined
}

/** A request's context, as far as it is needed here. */
type KoaContext = Pick<Koa.Context, 'method' | 'vary'>

interface SessionState {
  content: SessionContent
  of: KoaSession
}

/**
 * `ctx.session` of an application: a plain object that koa-session's session holds as one value. No key of it means
 * anything to koa-session, whose own session would stumble over `toJSON` or `__proto__`, and forget `_name`.
 */
export class SessionContents {
  private readonly states = new WeakMap<object, SessionState>()
  private readonly renewed = new WeakSet<object>()
  private readonly read: (this: unknown) => KoaSession | null
  private readonly write: (this: unknown, value: object | null) => void

  /** Takes the place of the `session` that koa-session has put on a context. */
  constructor(context: Koa['context']) {
    // koa-session defines both, and types neither.
    const { get, set } = Object.getOwnPropertyDescriptor(context, 'session') as Required<PropertyDescriptor>
    this.read = get
    this.write = set
    const read = (ctx: KoaContext) => this.of(ctx)
    const replace = (ctx: object, value: SessionContent | null) => this.replace(ctx, value)
    const renew = (ctx: object) => void this.renewed.add(ctx)
    Object.defineProperties(context, {
      session: {
        get(this: KoaContext) {
          return read(this)
        },
        set(this: object, value: SessionContent | null) {
          replace(this, value)
        },
        configurable: true,
      },
      renewSession: {
        value(this: object) {
          renew(this)
        },
        configurable: true,
      },
    })
  }

  /** The content of a request's session; null when the session has been ended. */
  of(ctx: KoaContext): SessionContent | null {
    const session = this.read.call(ctx)
    if (!session) return null
    const state = this.states.get(ctx)
    if (state?.of === session) return state.content
    if (ctx.method === 'GET' || ctx.method === 'HEAD') ctx.vary('Cookie')
    const content = bare(session.content)
    session.content = content
    this.states.set(ctx, { content, of: session })
    return content
  }

  /** Puts the messages back that a request has taken, and takes those back that it wrote, because it failed. */
  undoFlash(ctx: object): void {
    const state = this.states.get(ctx)
    if (state) restoreFlash(state.content)
  }

  /** Prepares the session of a request that has been handled for being kept: an empty one is none, a renewed one moves. */
  async settle(ctx: KoaContext): Promise<void> {
    const isRenewed = this.renewed.has(ctx)
    if (!isRenewed && !this.states.has(ctx)) return
    const session = this.read.call(ctx)
    if (!session) return
    const content = this.of(ctx) ?? {}
    if (Object.keys(content).length === 0) delete session.content
    if (isRenewed && !(session.isNew && session.content === undefined)) await session.regenerate()
  }

  private replace(ctx: object, value: SessionContent | null): void {
    if (typeof value !== 'object')
      throw new TypeError(`ctx.session is an object, or null to end it, and not ${String(value)}.`)
    // What begins after the end is another session, and the id of the ended one is not used again.
    if (value && this.read.call(ctx) === null) this.renewed.add(ctx)
    this.write.call(ctx, value && { content: bare(value) })
  }
}

/** A copy without a prototype: `__proto__` is a key like any other. */
function bare(value: unknown): SessionContent {
  const content: SessionContent = Object.create(null)
  return typeof value === 'object' && value !== null ? Object.assign(content, value) : content
}
