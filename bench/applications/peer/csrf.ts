import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Context, Next } from 'koa'
import { Failure } from './answers.js'

const size = 32

/** The token of a page's forms: the secret of the session, masked anew for each page. */
export function tokenOf(ctx: Context): string {
  const secret = Buffer.from((ctx['session'].csrf ??= randomBytes(size).toString('base64url')), 'base64url')
  const mask = randomBytes(size)
  return Buffer.concat([mask, xor(mask, secret)]).toString('base64url')
}

/** Refuses forms without a token, and what another site makes a browser send. */
export async function guard(ctx: Context, next: Next): Promise<void> {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
    const origin = ctx.get('Origin')
    const isForeign = origin !== '' && origin !== `${ctx.protocol}://${ctx.host}`
    if (isForeign || ctx.get('Sec-Fetch-Site') === 'cross-site') throw new Failure(403, 'cross-site request')
    const { body } = ctx.request as { body?: Record<string, unknown> }
    const token = ctx.get('X-CSRF-Token') || body?.['authenticity_token']
    if (!ctx.is('json') && !isToken(ctx, token)) throw new Failure(403, 'invalid token')
  }
  await next()
}

function isToken(ctx: Context, token: unknown): boolean {
  const secret = Buffer.from(String(ctx['session'].csrf ?? ''), 'base64url')
  const bytes = Buffer.from(String(token), 'base64url')
  if (secret.length !== size || bytes.length !== 2 * size) return false
  return timingSafeEqual(xor(bytes.subarray(0, size), bytes.subarray(size)), secret)
}

function xor(left: Buffer, right: Buffer): Buffer {
  const bytes = Buffer.alloc(size)
  for (let at = 0; at < size; at++) bytes[at] = (left[at] ?? 0) ^ (right[at] ?? 0)
  return bytes
}
