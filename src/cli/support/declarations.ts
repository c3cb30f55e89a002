import type { App } from '../../application/application.js'

/**
 * Checks the declarations of an application whose mistakes stop the start in development: the options of its resources, and
 * what its OpenAPI documents describe. Needs no database.
 *
 * @throws DeclarationError, UntypedAttribute
 */
export async function checkDeclarations(app: App): Promise<void> {
  app.checkOptions()
  const { declarations } = app
  if (declarations.documents.length === 0) return
  const { checkDocument } = await import('../../openapi/index.js')
  for (const document of declarations.documents) checkDocument(declarations, document, 'development')
}
