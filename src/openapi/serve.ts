import { hash } from 'node:crypto'
import type { Declarations } from '../extension.js'
import type { Context } from '../index.js'
import type { DeclaredDocument } from './declared-document.js'
import { buildDocument } from './document.js'
import { servePage, swaggerFolder } from './page.js'

/** Serves a document, which the first request builds, or its page, depending on the path of the route. */
export function serve(ctx: Context, declared: DeclaredDocument, declarations: Declarations): unknown {
  if (ctx.route.path !== declared.path) return servePage(ctx, declared.path)
  const text = cachedText(declarations, declared)
  ctx.type = 'application/json'
  ctx.body = text
  ctx.etag = hash('sha256', text, 'base64url')
  if (ctx.fresh) ctx.status = 304
}

/**
 * Builds a document, so that a mistake in a description stops the start. In production, only the package of
 * the page is checked.
 *
 * @throws DeclarationError when the document cannot be built, or when the package is missing
 */
export function checkDocument(declarations: Declarations, declared: DeclaredDocument, env: string): void {
  if (declared.options.page !== undefined) swaggerFolder()
  if (env !== 'production') cachedText(declarations, declared)
}

const texts = new WeakMap<DeclaredDocument, string>()

/** Returns the text of a document, which is built once. */
function cachedText(declarations: Declarations, declared: DeclaredDocument): string {
  const text = texts.get(declared) ?? toText(buildDocument(declarations, declared).document)
  texts.set(declared, text)
  return text
}

/** Returns a document as formatted JSON. */
export function toText(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`
}
