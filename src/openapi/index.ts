import { createHash } from 'node:crypto'
import type { Declarations, DeclaredDocument } from '../extension.js'
import type { Context } from '../index.js'
import { buildDocument } from './document.js'
import { servePage, servePageFile, swaggerFolder } from './page.js'

export { differences } from './differences.js'
export { buildDocument, documentsOf, undescribedRoutes, type OpenApiDocument } from './document.js'

/** The handlers of a document's routes. */
export const serve = { document: serveDocument, page: servePage, file: servePageFile }

/** A document as it is served. */
interface Served {
  text: string
  etag: string
}

const served = new WeakMap<DeclaredDocument, Served>()

/** Serves a document, which is built at the first request. */
function serveDocument(ctx: Context, declared: DeclaredDocument, declarations: Declarations): void {
  const { text, etag } = servedDocument(declarations, declared)
  ctx.type = 'application/json'
  ctx.body = text
  ctx.set('ETag', etag)
  if (ctx.fresh) ctx.status = 304
}

/**
 * Builds a document, so that a mistake in a description stops the start. In production only the package of the page is
 * checked.
 *
 * @throws DeclarationError when it cannot be built, or when the package is missing
 */
export function checkDocument(declarations: Declarations, declared: DeclaredDocument, env: string): void {
  if (declared.page !== undefined) swaggerFolder()
  if (env !== 'production') servedDocument(declarations, declared)
}

function servedDocument(declarations: Declarations, declared: DeclaredDocument): Served {
  const known = served.get(declared)
  if (known) return known
  const text = toText(buildDocument(declarations, declared).document)
  const built = { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` }
  served.set(declared, built)
  return built
}

/** A document as text. */
export function toText(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`
}
