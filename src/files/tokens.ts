import { createHash } from 'node:crypto'
import { isId, secretOf, Signer } from '../extension.js'
import type { Context } from '../index.js'

/** The beginning of each token, by which the log recognizes it as a secret. */
const prefix = 'file_'

/**
 * The tokens by which a visitor attaches a file that no record has yet. A token belongs to the user, else to the session of a
 * visitor, else to anybody who has it.
 */
export class Tokens {
  private readonly signer: Signer

  constructor(secrets: readonly string[]) {
    this.signer = new Signer('stored_file', secrets)
  }

  create(ctx: Context, id: string): string {
    return prefix + this.signer.encode([id, ownerOf(ctx)])
  }

  /** The id of the file of a token; undefined if it is malformed, or belongs to somebody else. */
  idOf(ctx: Context, token: string): string | undefined {
    if (!token.startsWith(prefix)) return undefined
    const [id, owner]: unknown[] = [this.signer.decode(token.slice(prefix.length))].flat()
    return typeof id === 'string' && isId(id) && owner === ownerOf(ctx) ? id : undefined
  }
}

/** A text that is the same for each request of one user or session. */
function ownerOf(ctx: Context): string {
  const user: unknown = Reflect.get(ctx, 'user') ?? undefined
  const id: unknown = Object(user).id
  if (user !== undefined) return hash(`user ${String(id)}`)
  const secret = hasSession(ctx) ? secretOf(ctx.session) : undefined
  return secret ? hash(`session ${secret.toString('base64url')}`) : ''
}

/** An API application has no sessions. */
function hasSession(ctx: Context): boolean {
  return ctx.defaultFormat === 'html'
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
