import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { koaBody } from 'koa-body'
import type { Context } from '../context.js'
import type { BodyLimits, BodyReader } from './body.js'
import { decompressed, limited, type BodyStream } from './body-stream.js'

/** Reads forms, and the files that they upload into a folder of the request's own. */
export function formReader(limits: BodyLimits): BodyReader {
  const parseForm = parser(limits)

  return async function readForm(ctx) {
    if (!isMultipart(ctx)) return parseForm(beside(ctx, decompressed(ctx)), ignore)
    const folder = await mkdtemp(join(tmpdir(), 'upload-'))
    folders.set(ctx, folder)
    // The headers of the parts count, too: as much as the fields.
    await parser(limits, folder)(beside(ctx, limited(ctx, 2 * limits.body + limits.files)), ignore)
    Object.assign(ctx.request, { body: lastOfEach(Object(ctx.request.body)) })
  }
}

export function isMultipart(ctx: Context): boolean {
  return typeof ctx.is('multipart/form-data') === 'string'
}

const folders = new WeakMap<Context, string>()

/** Deletes the uploaded files of a request that nobody moved elsewhere. */
export async function removeUploads(ctx: Context): Promise<void> {
  const folder = folders.get(ctx)
  if (folder) await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

function parser(limits: BodyLimits, uploadDir = tmpdir()): ReturnType<typeof koaBody> {
  return koaBody({
    formLimit: limits.body,
    json: false,
    text: false,
    multipart: true,
    parsedMethods: ['POST', 'PUT', 'PATCH', 'DELETE'] as never,
    queryString: {
      depth: 5,
      arrayLimit: 100,
      parameterLimit: 1000,
      throwOnLimitExceeded: true,
      allowDots: false,
      duplicates: 'last',
    } as object,
    formidable: {
      uploadDir,
      maxFields: 1000,
      maxFieldsSize: limits.body,
      maxFiles: 100,
      maxFileSize: limits.files,
      maxTotalFileSize: limits.files,
      allowEmptyFiles: true,
      minFileSize: 0,
      onPart: (part, handle) => {
        // formidable keeps fields in a plain object, which already has members of these names.
        if (part.name === null || part.name in Object.prototype) return
        // It has undone base64 by now, and takes the rest for the name of a character set: "7bit" would end the process.
        Object.assign(part, { transferEncoding: 'utf-8' })
        handle(part)
      },
    },
  })
}

/** The same context with another stream for its body. */
function beside(ctx: Context, req: BodyStream): Context {
  return Object.create(ctx, { req: { value: req } })
}

/** Of a repeated field the last one counts, as in other forms: a check box follows the hidden field of its name. */
function lastOfEach(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value].flat().at(-1)]))
}

async function ignore(): Promise<void> {}
