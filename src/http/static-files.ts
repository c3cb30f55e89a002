import { resolve } from 'node:path'
import send from 'send'
import type { Context } from '../context.js'
import type { StaticMount } from '../routing/shadowed.js'

/**
 * Answers a GET or HEAD request with a file of the folder.
 *
 * @returns whether there is such a file; hidden ones and those outside of the folder count as absent
 */
export async function sendFile(ctx: Context, mount: Pick<StaticMount, 'prefix' | 'folder'>): Promise<boolean> {
  const path = mount.prefix === '/' ? ctx.path : ctx.path.slice(mount.prefix.length)
  const stream = send(ctx.req, path || '/', { root: resolve(mount.folder), dotfiles: 'ignore' })
  return await new Promise((answer, reject) => {
    stream.on('file', () => {
      // From here on `send` writes the answer itself: with ranges, ETag and 304.
      Object.assign(ctx, { respond: false })
      ctx.res.statusCode = 200
      answer(true)
    })
    stream.on('directory', () => answer(false))
    stream.on('error', (error: Error & { status?: number; headers?: Record<string, string> }) => {
      const status = error.status ?? 500
      if (isPreconditionFailure(status)) endWith(ctx, status, error.headers)
      else if (status < 500) answer(false)
      else reject(error)
    })
    stream.pipe(ctx.res)
  })
}

/** A file that is there, but not under the conditions or in the range that the client asks for. */
function isPreconditionFailure(status: number): boolean {
  return status === 412 || status === 416
}

function endWith({ res }: Context, status: number, headers: Record<string, string> = {}): void {
  res.statusCode = status
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  res.end()
}

/** Whether a path lies beneath a mount. */
export function isServedBy(mount: Pick<StaticMount, 'prefix'>, path: string): boolean {
  return mount.prefix === '/' || path === mount.prefix || path.startsWith(`${mount.prefix}/`)
}
