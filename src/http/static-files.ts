import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import type send from 'send'
import type { Context } from '../context.js'
import { HttpError } from '../errors.js'
import type { StaticMount } from '../routing/static-mount.js'

/** `send` is loaded with the first file: an application without files starts without it. */
const require = createRequire(import.meta.url)

/**
 * Answers a GET or HEAD request with a file of the folder.
 *
 * @returns whether there is such a file; hidden ones and those outside of the folder count as absent
 * @throws HttpError (412, 416) when the file is not under the conditions, or not in the range, that the client asks for
 */
export async function sendFile(
  ctx: Context,
  mount: Pick<StaticMount, 'prefix' | 'folder'>,
): Promise<boolean> {
  const path = mount.prefix === '/' ? ctx.path : ctx.path.slice(mount.prefix.length)
  const sender: typeof send = require('send')
  const stream = sender(ctx.req, path || '/', { root: resolve(mount.folder), dotfiles: 'ignore' })
  return await new Promise((answer, reject) => {
    stream.on('file', () => {
      // From here on `send` writes the answer itself: with ranges, ETag and 304.
      Object.assign(ctx, { respond: false })
      ctx.res.statusCode = 200
      ctx.res.once('close', () => answer(true))
    })
    stream.on('directory', () => answer(false))
    stream.on('error', (error: SendError) => {
      if (ctx.res.headersSent) return ctx.res.destroy()
      Reflect.deleteProperty(ctx, 'respond')
      if (isPreconditionFailure(error))
        reject(new HttpError(error.status, error.message, { ...error.headers }))
      else if (error.status < 500) answer(false)
      else reject(error)
    })
    stream.pipe(ctx.res)
  })
}

interface SendError extends Error {
  status: number
  headers?: Record<string, string>
}

/** A file that is there, but not under the conditions or in the range that the client asks for. */
function isPreconditionFailure({ status }: SendError): boolean {
  return status === 412 || status === 416
}
