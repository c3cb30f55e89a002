import { createHash, randomBytes } from 'node:crypto'
import { newId, permitQuery } from '../extension.js'
import { DeclarationError, type Context, type Database, type Model } from '../index.js'
import { passwordStamp, type Account } from './account.js'

/** The attributes that the model of bearer tokens has. */
export interface ApiToken extends Model {
  user_id: string
  /** The SHA-256 of the secret. */
  secret_hash: string
  /** The `passwordStamp` of the user. */
  stamp: string
  expires_at: Date
  last_used_at: Date | null
}

/** A class of bearer tokens. */
export type ApiTokenClass = new () => ApiToken

/** The number of days for which a token is valid, unless the application sets `expires_at`. */
const defaultDays = 90

/** The milliseconds between two updates of `last_used_at`: an hour. */
const useInterval = 3_600_000

/**
 * Fills a new bearer token of a user, and returns its text, which is shown once: `prefix_id_secret_checksum`.
 * The record stores the hash of the secret. Scanners for secrets recognize the text by its prefix. Its
 * checksum lets the server reject other texts without a query.
 *
 * @example const text = issueToken(token, ctx.user, { prefix: 'shop' })
 * @throws DeclarationError when the prefix has other characters than letters, digits and `_`
 */
export function issueToken(token: ApiToken, user: Account, { prefix = 'kit' } = {}): string {
  if (!/^\w+$/.test(prefix))
    throw new DeclarationError(`The prefix of issueToken() is "${prefix}". Use letters, digits and _.`)
  const secret = randomBytes(32).toString('hex')
  token.id ??= newId()
  token.user_id = user.id
  token.stamp = passwordStamp(user)
  token.secret_hash = hash(secret)
  token.expires_at ??= new Date(Date.now() + defaultDays * 86_400_000)
  const text = `${prefix}_${token.id.replaceAll('-', '')}_${secret}`
  return `${text}_${checksum(text)}`
}

/** Reads the bearer token in the `Authorization` header of a request; undefined without one. */
export function readBearer(ctx: Context): string | undefined {
  return /^Bearer +(\S+)$/i.exec(ctx.get('Authorization'))?.[1]
}

/** Finds a token that has not expired, and updates `last_used_at`. Callers check the `stamp`. */
export async function findByToken(
  database: Database,
  model: ApiTokenClass,
  text = '',
): Promise<ApiToken | undefined> {
  const { id, secret } = parse(text) ?? {}
  if (!id || !secret) return undefined
  const token = await database.read((tx) => tx.findOneBy(model, { id, secret_hash: hash(secret) }))
  if (!token || Number(token.expires_at) <= Date.now()) return undefined
  if (Number(token.last_used_at ?? 0) < Date.now() - useInterval) await updateLastUse(database, model, id)
  return token
}

async function updateLastUse(database: Database, model: ApiTokenClass, id: string): Promise<void> {
  const update = database.createQueryBuilder().update(model).set({ last_used_at: new Date() })
  // The token is valid even if the update fails, for example while the database is read-only. A use leaves no entry in a history.
  await permitQuery(update.where('id = :id', { id }))
    .execute()
    .catch(() => undefined)
}

function parse(text: string): { id: string; secret: string } | undefined {
  const [, unsigned = '', hex = '', secret = '', sum] =
    /^(\w+_([\da-f]{32})_([\da-f]{64}))_([\da-f]{8})$/.exec(text) ?? []
  if (sum === undefined || sum !== checksum(unsigned)) return undefined
  return { id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'), secret }
}

function checksum(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

function hash(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
