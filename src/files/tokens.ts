import { createHash } from 'node:crypto'
import { isId, secretOf } from '../extension.js'
import type { Context } from '../index.js'
import type { Files } from './files.js'

/** The beginning of each token, by which the log recognizes it as a secret. */
const prefix = 'file_'

const purpose = 'stored_file'

/**
 * Creates the token by which a visitor attaches a file that no record has yet. It belongs to the user, else to the session of a
 * visitor, else to anybody who has it.
 */
export function createToken(files: Files, ctx: Context, id: string): string {
  return prefix + files.signer(purpose).encode([id, ownerOf(ctx)])
}

/** The id of the file of a token; undefined if it is malformed, or belongs to somebody else. */
export function idOfToken(files: Files, ctx: Context, token: string): string | undefined {
  if (!token.startsWith(prefix)) return undefined
  const [id, owner]: unknown[] = [files.signer(purpose).decode(token.slice(prefix.length))].flat()
  return typeof id === 'string' && isId(id) && owner === ownerOf(ctx) ? id : undefined
}

/** A text that is the same for each request of one user or session. An API application has no sessions. */
function ownerOf(ctx: Context): string {
  const user: unknown = Reflect.get(ctx, 'user')
  if (user) return hash(`user ${String(Reflect.get(user, 'id'))}`)
  const secret = ctx.defaultFormat === 'html' ? secretOf(ctx.session) : undefined
  return secret ? hash(`session ${secret.toString('base64url')}`) : ''
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
