import { realpathSync, type Stats } from 'node:fs'
import { sep } from 'node:path'
import type { Readable } from 'node:stream'
import type send from 'send'
import type { Context } from '../../context.js'
import { HttpError } from '../../errors.js'
import type { StaticFolder } from '../../routing/static-folder.js'
import { digestOf, splitDigest } from './assets.js'
import { require } from '../../common/lazy.js'

/**
 * Responds to a GET or HEAD request with a file of the folder. If its path contains the digest of the file's
 * content, the response can be cached forever.
 *
 * @returns whether there is such a file; hidden files except those in `.well-known`, files outside of the
 *   folder and irregular files are treated as missing, even if a link in the folder leads to them
 * @throws HttpError (412, 416) when the file does not meet the conditions or the range of the request, and
 *   errors of reading it
 */
export async function sendFile(ctx: Context, mounted: StaticFolder): Promise<boolean> {
  const path = mounted.fileOf(ctx.path)
  if (path === undefined) return false
  if (await sendPath(ctx, mounted.folder, path)) return true
  const digested = splitDigest(path)
  return digested !== undefined && (await sendPath(ctx, mounted.folder, digested.path, digested.digest))
}

/** A path in the only hidden folder that is served, without hidden files in it (RFC 8615). */
const isWellKnown = /^\/\.well-known(?:\/(?!\.)[^/]*)+$/

/** @param digest the digest that the file must have; if it is set, the response can be cached forever */
async function sendPath(ctx: Context, root: string, path: string, digest?: string): Promise<boolean> {
  const sender: typeof send = require('send')
  const caching = digest === undefined ? {} : { maxAge: '1y', immutable: true }
  const dotfiles = isWellKnown.test(path) ? 'allow' : 'ignore'
  const stream = sender(ctx.req, path, { root, dotfiles, ...caching })
  return await new Promise((resolve, reject) => {
    const write = stream.send.bind(stream)
    stream.send = (file, stats) => {
      if (!isServable(root, file, stats)) return resolve(false)
      if (digest !== undefined && digestOf(file, stats) !== digest) return resolve(false)
      // From here on `send` writes the response itself, with ranges, ETag and 304.
      Object.assign(ctx, { respond: false })
      ctx.res.statusCode = 200
      ctx.res.once('close', () => resolve(true))
      write(file, stats)
    }
    // `send` itself notices only the end of a connection on which its response is being sent.
    stream.on('stream', (file: Readable) => ctx.res.once('close', () => file.destroy()))
    stream.on('directory', () => resolve(false))
    stream.on('error', (error: SendError) => {
      if (ctx.res.headersSent) return ctx.res.destroy()
      // The error response, or another folder, is sent by Koa again.
      Reflect.deleteProperty(ctx, 'respond')
      if (isPreconditionFailure(error))
        reject(new HttpError(error.status, error.message, { ...error.headers }))
      else if (error.status < 500) resolve(false)
      else reject(error)
    })
    stream.pipe(ctx.res)
  })
}

/**
 * Whether a path is a regular file within its folder, which may be a link itself. Opening a FIFO would wait
 * for a writer and block a thread of the process.
 */
function isServable(root: string, file: string, stats: Stats | undefined): stats is Stats {
  if (!stats?.isFile()) return false
  try {
    // `send` has just read the file's metadata, so the system resolves its links without reading the disk.
    const real = realpathSync.native(file)
    return isWithin(root, real) || isWithin(realpathSync.native(root), real)
  } catch {
    // The file has been deleted in the meantime.
    return false
  }
}

function isWithin(folder: string, file: string): boolean {
  return file.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

interface SendError extends Error {
  status: number
  headers?: Record<string, string>
}

/** Whether the file exists, but does not meet the conditions or the range of the request. */
function isPreconditionFailure({ status }: SendError): boolean {
  return status === 412 || status === 416
}
