import { DeclarationError } from '../errors.js'

/**
 * The URL of a path in a mail: `https://shop.example/session/new`. It begins with `BASE_URL`, and never with the host of a
 * request, which a client can forge. In development and in specs, `BASE_URL` is this machine by default.
 *
 * @throws DeclarationError when `BASE_URL` is malformed
 */
export function absoluteUrl(path: string): string {
  return baseUrl() + path
}

/** @throws DeclarationError when `BASE_URL` is not the address of a site */
export function baseUrl(): string {
  const given = process.env['BASE_URL']
  if (!given) return `http://localhost:${process.env['PORT'] || 3000}`
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.pathname === '/' && !url.search && !url.username)
    return url.origin
  throw new DeclarationError(
    `BASE_URL is ${JSON.stringify(given)}. Set it to the address of the site: https://shop.example.`,
  )
}
