import { PerRequest } from '../common/per-request.js'
import { markSecret } from '../http/private-responses.js'
import { maskedToken, secretFingerprint } from './csrf-token.js'

/** The parts of a context that a token depends on. */
interface TokenContext {
  readonly method: string
  readonly session: Record<string, unknown>
}

/** The token of a request's page, once somebody has asked for it. */
interface RequestToken {
  token: string | undefined
  /** The session that it is of, and its secret. */
  session?: Record<string, unknown>
  secret?: unknown
}

const tokens = new PerRequest<RequestToken>()

/** Lets the page of a request have a token. */
export function allowToken(ctx: object): void {
  tokens.set(ctx, { token: undefined })
}

/** The token of a request's page: one for all of its forms. Undefined where nobody has allowed it. */
export function tokenOfPage(ctx: TokenContext): string | undefined {
  const kept = tokens.get(ctx)
  if (!kept) return undefined
  const { session } = ctx
  const isCurrent =
    kept.token !== undefined && kept.session === session && kept.secret === secretFingerprint(session)
  if (!isCurrent) {
    // Nobody sees the page that HEAD asks for: no session begins with it.
    kept.token = maskedToken(ctx.method === 'HEAD' ? { ...session } : session)
    kept.session = session
    kept.secret = secretFingerprint(session)
    markSecret(ctx)
  }
  return kept.token
}
