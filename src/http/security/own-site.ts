import { randomUUID } from 'node:crypto'
import type { Context } from '../../context.js'
import { BadRequest } from '../../errors.js'

/** An unguessable host. A URL leads to it only if it is relative. */
const host = `${randomUUID()}.invalid`

/** `http:evil.example` is a path on a page of http, and another site on one of https. */
const bases = [`http://${host}`, `https://${host}`]

/** Only a second slash or backslash begins a host. After any other character, the rest is a path of this site. */
const plainPath = /^\/(?:\w|$)/

/**
 * Returns a URL that stays on the site when a browser follows it.
 *
 * @throws BadRequest (400) when the URL leads to another site
 */
export function urlOfThisSite(url: string): string {
  if (isOfThisSite(url)) return url
  throw new BadRequest('The redirect leads to another site.')
}

/** Whether a URL stays on the site when a browser follows it. `javascript:` does not. */
export function isOfThisSite(url: string): boolean {
  if (plainPath.test(url)) return true
  return bases.every((base) => URL.canParse(url, base) && new URL(url, base).origin === base)
}

/** The page that a request was sent from, if the page belongs to this site. */
export function refererOfThisSite(ctx: Context): string | undefined {
  const referrer = ctx.get('Referer')
  if (!URL.canParse(referrer)) return undefined
  const { origin, href } = new URL(referrer)
  return origin === ownOrigin(ctx) ? href : undefined
}

/** The origin of our own pages, as a browser writes it: without a default port. */
export function ownOrigin(ctx: Context): string {
  const url = `${ctx.secure ? 'https' : 'http'}://${ctx.host}`
  return URL.canParse(url) ? new URL(url).origin : url
}
