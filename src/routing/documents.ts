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
  options: DocumentOptions
  /** The scope whose routes it describes. */
  scope: object
  host: string | undefined
}
