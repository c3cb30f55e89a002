import { createRequire } from 'node:module'
import type { koaBody } from 'koa-body'
import type { Context } from '../../context.js'
import type { BodyReader } from './body.js'
import { decompressed, type BodyStream } from './body-stream.js'
import { nesting } from './form-fields.js'

/** koa-body is loaded with the first form, so that an application without forms starts without it. */
const require = createRequire(import.meta.url)

type Parser = ReturnType<typeof koaBody>

/** Creates the reader of urlencoded forms. */
export function formReader(limit: number): BodyReader {
  let parse: Parser | undefined

  return async function readForm(ctx) {
    await (parse ??= parser(limit))(withBodyStream(ctx, decompressed(ctx)), ignore)
  }
}

function parser(limit: number): Parser {
  const loaded: { koaBody: typeof koaBody } = require('koa-body')
  return loaded.koaBody({
    formLimit: limit,
    json: false,
    text: false,
    multipart: false,
    // The route has decided that a body is read. The type requires members of an enum, whose values are these words.
    parsedMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as never,
    queryString: nesting as object,
  })
}

/**
 * The members of a context that koa-body uses, with another stream for the body. The context does not become the prototype
 * of another one, because V8 would keep it in memory until the next major garbage collection.
 */
function withBodyStream(ctx: Context, req: BodyStream): Context {
  const { request, method } = ctx
  const is = (...types: string[]) => ctx.is(...types)
  return { req, request, method, is } as unknown as Context
}

async function ignore(): Promise<void> {}
