import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import type { koaBody } from 'koa-body'
import type { Context } from '../../context.js'
import { nesting } from './form-fields.js'

/** koa-body is loaded with the first form, so that an application without forms starts without it. */
const require = createRequire(import.meta.url)

const [plus, space] = [0x2b, 0x20]

type Parser = ReturnType<typeof koaBody>

/** Creates the parser of urlencoded forms, which sets `ctx.request.body`. */
export function formReader(limit: number): (ctx: Context, text: string) => Promise<void> {
  let parse: Parser | undefined

  return async function readForm(ctx, text) {
    await (parse ??= parser(limit))(withBody(ctx, text), ignore)
  }
}

function parser(limit: number): Parser {
  const loaded: { koaBody: typeof koaBody } = require('koa-body')
  return loaded.koaBody({
    // The text has been read within its limit, and each invalid byte has become a character of three bytes.
    formLimit: 3 * limit,
    json: false,
    text: false,
    multipart: false,
    // The route has decided that a body is read. The type requires members of an enum, whose values are these words.
    parsedMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as never,
    queryString: nesting as object,
  })
}

/**
 * The members of a context that koa-body uses, with a body that has been read. The context does not become the prototype of
 * another one, because V8 would keep it in memory until the next major garbage collection.
 */
function withBody(ctx: Context, text: string): Context {
  const { request, method } = ctx
  const is = (...types: string[]) => ctx.is(...types)
  const bytes = Buffer.from(text)
  // qs replaces each plus sign by a space, which takes a tenth of a second for a million.
  for (let at = bytes.indexOf('+'); at >= 0 && at < bytes.length; at++)
    if (bytes[at] === plus) bytes[at] = space
  const req = Object.assign(Readable.from([bytes]), { headers: {} })
  return { req, request, method, is } as unknown as Context
}

async function ignore(): Promise<void> {}
