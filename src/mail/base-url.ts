import { configuredBaseUrl } from '../extension.js'

/**
 * The URL of a path in a mail: `https://shop.example/session/new`. It begins with `BASE_URL`, or in development and specs by
 * default with `http://localhost` and the port. It never begins with the host of a request, which a client can forge.
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
