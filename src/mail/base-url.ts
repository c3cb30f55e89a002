import { configuredBaseUrl } from '../routing/base-url.js'

/**
 * The URL of a path in a mail: `https://shop.example/session/new`. It begins with `BASE_URL`, and in no environment with the
 * host of a request, which a client can forge. In development and in specs, `BASE_URL` is this machine by default.
 *
 * @throws BadBaseUrl when `BASE_URL` is malformed
 */
export function absoluteUrl(path: string): string {
  return baseUrl() + path
}

/** @throws BadBaseUrl */
export function baseUrl(): string {
  return (
    configuredBaseUrl() ?? `http://localhost:${process.env['KIT_DEV_PORT'] || process.env['PORT'] || 3000}`
  )
}
