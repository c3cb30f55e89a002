import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import type { koaBody } from 'koa-body'
import type { Context } from '../context.js'
import { bodyKindOf } from './body-kind.js'
import type { BodyLimits, BodyReader } from './body.js'
import { decompressed, limited, type BodyStream } from './body-stream.js'
import { makeUploadFolder, removeUploadFolder } from './upload-folders.js'

/** koa-body is loaded with the first form: an application without forms starts without it. */
const require = createRequire(import.meta.url)

/** Reads forms, and the files that they upload into a folder of the request's own. */
export function formReader(limits: BodyLimits): BodyReader {
  let parseForm: Parser | undefined

  return async function readForm(ctx) {
    if (!isMultipart(ctx)) return (parseForm ??= parser(limits))(beside(ctx, decompressed(ctx)), ignore)
    const folder = await makeUploadFolder()
    folders.set(ctx, folder)
    // The headers of the parts count, too: as much as the fields.
    await parser(limits, folder)(beside(ctx, limited(ctx, 2 * limits.body + limits.files)), ignore)
    Object.assign(ctx.request, { body: lastOfEach(Object(ctx.request.body)) })
  }
}

/** Whether a request has a multipart form as its body. */
export function isMultipart(ctx: Context): boolean {
  return bodyKindOf(ctx) === 'multipart'
}

const folders = new WeakMap<Context, string>()

/** Deletes the uploaded files of a request that nobody moved elsewhere. */
export async function removeUploads(ctx: Context): Promise<void> {
  const folder = folders.get(ctx)
  if (folder) await removeUploadFolder(folder)
}

type Parser = ReturnType<typeof koaBody>

function parser(limits: BodyLimits, uploadDir = tmpdir()): Parser {
  const loaded: { koaBody: typeof koaBody } = require('koa-body')
  return loaded.koaBody({
    formLimit: limits.body,
    json: false,
    text: false,
    multipart: true,
    // The type wants members of an enum, which are these words.
    parsedMethods: ['POST', 'PUT', 'PATCH', 'DELETE'] as never,
    // qs has options that its type does not know.
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

/**
 * What koa-body asks of a context, with another stream for the body. The context is not made the prototype of another
 * one: V8 would keep it in memory until the next large garbage collection.
 */
function beside(ctx: Context, req: BodyStream): Context {
  const { request, method } = ctx
  const is = (...types: string[]) => ctx.is(...types)
  return { req, request, method, is } as unknown as Context
}

/** Of a repeated field the last one counts, as in other forms: a check box follows the hidden field of its name. */
function lastOfEach(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value].flat().at(-1)]))
}

async function ignore(): Promise<void> {}
