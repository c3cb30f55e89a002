import type { App } from '../../application/application.js'

/**
 * Checks the declarations of an application whose mistakes stop the start in development: the options of its
 * resources, and what its OpenAPI documents describe. Needs no database.
 *
 * @throws DeclarationError, UntypedAttribute
 */
export async function checkDeclarations(app: App): Promise<void> {
  app.checkOptions()
  const { declarations } = app
  const { servedDocuments } = await import('../../openapi/document.js')
  const { checkDocument } = await import('../../openapi/serve.js')
  for (const document of servedDocuments(declarations)) checkDocument(declarations, document, 'development')
}
