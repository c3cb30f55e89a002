import type { Context } from '../context.js'
import { BadBaseUrl, MissingBaseUrl } from '../errors.js'

/**
 * Returns the address of the application without a slash at its end: `BASE_URL`, else the origin of the
 * request. In production the origin is not used, because a client chooses it by its `Host` header.
 *
 * @throws MissingBaseUrl in production without `BASE_URL`, BadBaseUrl when it isn't an HTTP URL, or has a
 *   query or a fragment
 */
export function applicationUrl({ env, protocol, host }: Pick<Context, 'env' | 'protocol' | 'host'>): string {
  const baseUrl = configuredBaseUrl()
  if (baseUrl !== undefined) return baseUrl
  if (env === 'production') throw new MissingBaseUrl()
  return `${protocol}://${host}`
}

/**
 * Returns `BASE_URL` without a slash at its end; undefined if it is not set.
 *
 * @throws BadBaseUrl
 */
export function configuredBaseUrl(): string | undefined {
  const baseUrl = process.env['BASE_URL']
  return baseUrl ? parse(baseUrl) : undefined
}

function parse(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) throw new BadBaseUrl(text)
  return url.href.replace(/\/+$/, '')
}
