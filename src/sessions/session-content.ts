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
    // The getter, the setter and the method are called on the context of a request, hence functions.
    const contents = this
    Object.defineProperties(context, {
      session: {
        get(this: object) {
          return contents.of(this)
        },
        set(this: object, value: SessionContent | null) {
          contents.replace(this, value)
        },
        configurable: true,
      },
      renewSession: {
        value(this: object) {
          contents.renewed.add(this)
        },
        configurable: true,
      },
    })
  }

  /** The content of a request's session; null when the session has been ended. */
  of(ctx: object): SessionContent | null {
    const session = this.read.call(ctx)
    if (!session) return null
    const state = this.states.get(ctx)
    if (state?.of === session) return state.content
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
  async settle(ctx: object): Promise<void> {
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
    this.write.call(ctx, value && { content: bare(value) })
  }
}

/** A copy without a prototype: `__proto__` is a key like any other. */
function bare(value: unknown): SessionContent {
  const content: SessionContent = Object.create(null)
  return typeof value === 'object' && value !== null ? Object.assign(content, value) : content
}
