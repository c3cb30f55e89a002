import type { Site, SpecResponse } from './site.js'

/** The id of a session in the cookie that a response sets. */
export function sessionId(response: SpecResponse): string | undefined {
  return response.headers
    .getSetCookie()
    .map((cookie) => /^_blog_session=([^;]*)/.exec(cookie)?.[1])
    .at(-1)
}

/** Adds these values to the session. */
export function putSession(site: Site, json: unknown): Promise<SpecResponse> {
  return site.put('/', { json })
}

/** The content of the client's session, or of the one with this id. */
export async function readSession(site: Site, id?: string): Promise<SpecResponse['json']> {
  const headers = id === undefined ? undefined : { cookie: `_blog_session=${id}` }
  return (await site.get('/', { ...(headers && { headers }) })).json
}
