import type { Handler, Hooks } from '../context.js'
import { DeclarationError } from '../errors.js'
import type { Mount } from './mount.js'
import type { Declarations, Scope } from './scope.js'

/** The options of an OpenAPI document: the members of its `info`, and the path of its page. */
export interface DocumentOptions {
  title: string
  version: string
  /** The path of a page that shows the document, for example `/docs`. It needs the `swagger-ui-dist` package. */
  page?: string
  summary?: string
  description?: string
  termsOfService?: string
  contact?: { name?: string; url?: string; email?: string }
  license?: { name: string; identifier?: string; url?: string }
}

/** An OpenAPI document that a scope declares. */
export interface DeclaredDocument {
  /** The path at which it is served. */
  path: string
  /** The path of its page. */
  page?: string | undefined
  options: DocumentOptions
  /** The scope whose routes it describes. */
  scope: object
  host: string | undefined
}

/** The extension is loaded with the first request of a document, and not with the framework. */
const load = () => import('../openapi/index.js')

/** Declares the routes of a document and of its page. */
export function declareDocument(
  scope: Scope,
  declarations: Declarations,
  mount: Mount,
  path: string,
  options: DocumentOptions,
): void {
  const page = options.page === undefined ? undefined : mount.pathOf(options.page)
  const own = mount.scopes.at(-1) ?? {}
  const document = { path: mount.pathOf(path), page, options, scope: own, host: mount.host }
  const other = declarations.documents.find((one) => one.scope === own)
  if (other) {
    throw new DeclarationError(
      `The OpenAPI documents ${other.path} and ${document.path} describe the same routes. Remove one of them, or declare it in a group.`,
    )
  }
  declarations.documents.push(document)
  const openapi: Handler & Hooks = async (ctx) => (await load()).serve(ctx, document, declarations)
  // A mistake stops the start in development and in specs, and never in production.
  openapi.checkRoutes = async (_routes, _logger, env) => {
    if (env !== 'production' || page !== undefined) (await load()).checkDocument(declarations, document, env)
  }
  declarations.middleware.add(openapi)
  const ofPage = options.page === undefined ? [] : [options.page, `${options.page}/{file}`]
  for (const one of [path, ...ofPage]) scope.get(one, openapi)
}
