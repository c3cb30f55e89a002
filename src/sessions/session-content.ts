import type { Context } from '../context.js'
import { deleteSecret, setUnsavedSecret } from './csrf-token.js'
import { markPrivate } from '../http/private-responses.js'
import { secretOfUnknownId } from './session-store.js'

/** The values that an application keeps in a session. */
export type SessionContent = Record<string, unknown>

/** The members of koa-session's own session that are used here. */
interface KoaSession {
  content?: unknown
  isNew: boolean
  regenerate(): Promise<void> | undefined
}

/** The `session` property that koa-session defines on contexts. It is null after the session's end. */
export interface KoaProperty {
  get(this: unknown): KoaSession | null
  set(this: unknown, value: object | null): void
}

/**
 * The session of a request that uses it: a plain object that koa-session stores as its one value `content`.
 * Its keys have no meaning to koa-session, whose own session would fail on `toJSON` or `__proto__`, and lose
 * `_name`.
 */
export class RequestSession {
  /** The initial content as JSON; undefined if there was none. */
  private readonly initial: string | undefined
  /** The content, and the session of koa-session that has it. */
  private current: { content: SessionContent; of: KoaSession | null } | undefined
  private isRenewed = false
  private isEnded = false

  constructor(
    private readonly ctx: Context,
    private readonly koaSession: KoaProperty,
  ) {
    markPrivate(ctx)
    const content = this.session?.content
    this.initial = content === undefined ? undefined : JSON.stringify(content)
    const secret = secretOfUnknownId(ctx)
    if (secret) setUnsavedSecret(this.content, secret)
  }

  /** The values of the session. A value that is set after the session was ended begins a new one. */
  get content(): SessionContent {
    const { session } = this
    if (this.current?.of === session) return this.current.content
    const content = withoutPrototype(session?.content)
    if (session) session.content = content
    this.current = { content, of: session }
    return content
  }

  /** Replaces all values; null ends the session. */
  replace(value: SessionContent | null): void {
    if (typeof value !== 'object')
      throw new TypeError(
        `Set ctx.session to an object, or to null to end the session, not to ${String(value)}.`,
      )
    if (value === null) this.isEnded = true
    // A new session begins after the end, and the id of the ended one is not used again.
    else if (this.session === null) this.isRenewed = true
    this.session = value && { content: withoutPrototype(value) }
  }

  /** Gives the session a new id and a new secret of forms. */
  renew(): void {
    deleteSecret(this.content)
    this.isRenewed = true
  }

  /**
   * Restores the initial content, because the request failed. An ended session stays ended. `ctx.session`
   * also contains the values that the request has added, for the error page of development.
   */
  undo(): void {
    const initial = this.initialContent()
    const content = withoutPrototype({ ...this.content, ...initial })
    this.isRenewed = false
    this.session = this.isEnded ? null : initial ? { content: initial } : {}
    this.current = { content, of: this.session }
  }

  /**
   * Takes a snapshot.
   *
   * @returns a function that restores it before the request is retried
   */
  takeSnapshot(): () => void {
    const { isRenewed, isEnded } = this
    const content = JSON.stringify(this.content)
    return () => this.restore(JSON.parse(content), isRenewed, isEnded)
  }

  /** Restores the session as it was before the request used it. */
  reset(): void {
    this.restore(this.initialContent(), false, false)
  }

  /** Whether the content differs from the initial one. */
  get isChanged(): boolean {
    return JSON.stringify(this.content) !== this.initial
  }

  /** Prepares the session for the end of the request: an empty one is removed, a renewed one gets an id. */
  async prepareSave(): Promise<void> {
    const { content } = this
    const isEmpty = Object.keys(content).length === 0
    // Values that were set after the end begin a new session.
    if (this.session === null && !isEmpty) this.replace(content)
    const { session } = this
    if (!session) return
    if (isEmpty) delete session.content
    // A new session without values is not saved, so it needs no other id.
    if (this.isRenewed && !(session.isNew && isEmpty)) await session.regenerate()
  }

  private restore(content: SessionContent | undefined, isRenewed: boolean, isEnded: boolean): void {
    this.isRenewed = isRenewed
    this.isEnded = isEnded
    this.session = content ? { content } : {}
  }

  private initialContent(): SessionContent | undefined {
    return this.initial === undefined ? undefined : JSON.parse(this.initial)
  }

  private get session(): KoaSession | null {
    return this.koaSession.get.call(this.ctx)
  }

  private set session(value: object | null) {
    this.koaSession.set.call(this.ctx, value)
  }
}

/** Copies an object without its prototype, so that `__proto__` is an ordinary key. */
function withoutPrototype(value: unknown): SessionContent {
  const content: SessionContent = Object.create(null)
  return typeof value === 'object' && value !== null ? Object.assign(content, value) : content
}
