import type { Extension, Handler, Hooks, Scope } from '../index.js'

/** The options of an OpenAPI document: the members of its `info`, and the path of its page. */
export interface DocumentOptions {
  title: string
  version: string
  /** The path of a page with the document, such as `/docs`. It needs the `swagger-ui-dist` package. */
  page?: string
  summary?: string
  description?: string
  termsOfService?: string
  contact?: { name?: string; url?: string; email?: string }
  license?: { name: string; identifier?: string; url?: string }
}

/** The extension of `openapi()`: a document, and the scope whose routes it describes. */
export class DeclaredDocument implements Extension {
  readonly name = 'openapi'
  /** The object that identifies the scope: the last of the `scopes` of its routes. */
  scope: object | undefined
  /** The pattern of the virtual host at which the document is served. */
  host: string | undefined
  /** Checks the document at the start. */
  checkRoutes?: NonNullable<Hooks['checkRoutes']>

  /** @param path the path of the document, in the scope that is extended until `declare` completes it */
  constructor(
    public path: string,
    readonly options: DocumentOptions,
  ) {}

  declare(scope: Scope): void {
    const { path, options } = this
    const { page } = options
    const { declarations } = scope
    // The rest of the extension is loaded by a check, or by the first request of a document.
    const load = () => import('./serve.js')
    const openapi: Handler = async (ctx) => (await load()).serve(ctx, this, declarations)
    this.checkRoutes = async (_routes, _logger, env) => {
      // In production, no mistake in a document stops the start, but only that the package of the page is
      // missing.
      if (env !== 'production' || page) (await load()).checkDocument(declarations, this, env)
    }
    const route = scope.get(path, openapi)
    if (page) for (const one of [page, `${page}/{file}`]) scope.get(one, openapi)
    this.path = route.path
    this.host = route.host?.pattern
    this.scope = route.scopes.at(-1)
  }
}
