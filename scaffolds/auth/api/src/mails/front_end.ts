import { absoluteUrl } from 'resource-kit/mail'

/**
 * The URL of a page of your front end, which sends the token behind the # to this API. Browsers send that part to no server.
 * FRONTEND_URL is the address of the front end, by default BASE_URL.
 */
export function frontEndUrl(path: string): string {
  const { FRONTEND_URL } = process.env
  return FRONTEND_URL ? FRONTEND_URL.replace(/\/$/, '') + path : absoluteUrl(path)
}
