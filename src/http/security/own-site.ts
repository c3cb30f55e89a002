import { randomUUID } from 'node:crypto'
import type { Context } from '../../context.js'
import { BadRequest } from '../../errors.js'

/** A host that no client can guess. Only a relative URL leads to it. */
const host = `${randomUUID()}.invalid`

/** Both schemes: `http:evil.example` is a path on a page with http, and another site with https. */
const bases = [`http://${host}`, `https://${host}`]

/** A path that needs no parsing: only a slash or backslash after the first begins a host. */
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
