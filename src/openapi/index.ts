import { createHash } from 'node:crypto'
import type { DeclaredDocument, DocumentedRoutes } from '../extension.js'
import type { Context } from '../index.js'
import { buildDocument } from './document.js'
import { swaggerFolder } from './page.js'

export { servePage, servePageFile } from './page.js'
export { differences } from './differences.js'
export {
  buildDocument,
  documentsOf,
  undescribedRoutes,
  isDocumented,
  type BuiltDocument,
  type OpenApiDocument,
} from './document.js'

/** A document as it is served. */
interface Served {
  text: string
  etag: string
}

const served = new WeakMap<DeclaredDocument, Served>()

/** Serves a document, which is built at the first request. */
export function serveDocument(ctx: Context, application: DocumentedRoutes, declared: DeclaredDocument): void {
  const { text, etag } = servedDocument(application, declared)
  ctx.status = 200
  ctx.set('ETag', etag)
  if (ctx.fresh) {
    ctx.status = 304
    return
  }
  ctx.type = 'application/json'
  ctx.body = text
}

/**
 * Builds a document, so that a mistake in a description stops the start. In production only the package of the page is
 * checked.
 *
 * @throws DeclarationError when it cannot be built, or when the package is missing
 */
export function checkDocument(application: DocumentedRoutes, declared: DeclaredDocument, env: string): void {
  if (declared.page !== undefined) swaggerFolder()
  if (env !== 'production') servedDocument(application, declared)
}

function servedDocument(application: DocumentedRoutes, declared: DeclaredDocument): Served {
  const known = served.get(declared)
  if (known) return known
  const text = toText(buildDocument(application, declared).document)
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  const built = { text, etag }
  served.set(declared, built)
  return built
}

/** A document as text. */
export function toText(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`
}
