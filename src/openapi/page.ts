import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { DeclarationError, HttpError, type Context } from '../index.js'

/** Serves the page of Swagger UI for the document at a path, or a file that the page loads. */
export async function servePage(ctx: Context, documentPath: string): Promise<void> {
  const { file = 'index.html' } = ctx.params
  // The page loads its files by paths that are relative to this folder.
  if (!ctx.params['file'] && !ctx.path.endsWith('/')) return ctx.redirect(`${ctx.path}/`)
  const filePath = join(swaggerFolder(), file)
  if (!/^[\w-]+\.(html|css|js|png)$/.test(file) || !existsSync(filePath))
    throw new HttpError(404, `The page has no file ${file}.`)
  ctx.type = extname(file)
  ctx.body = file === 'swagger-initializer.js' ? initializerOf(documentPath) : await readFile(filePath)
}

/** The script that shows the document. That of Swagger UI shows an example. No validator of another host gets the document. */
function initializerOf(documentPath: string): string {
  const options = { url: documentPath, dom_id: '#swagger-ui', deepLinking: true, validatorUrl: null }
  return `SwaggerUIBundle(${JSON.stringify(options)})\n`
}

/**
 * Returns the folder of Swagger UI, which the application installs.
 *
 * @throws DeclarationError when it is not installed
 */
export function swaggerFolder(): string {
  try {
    const { resolve } = createRequire(join(process.cwd(), 'package.json'))
    return dirname(resolve('swagger-ui-dist/package.json'))
  } catch (cause) {
    throw new DeclarationError(
      'The "page" option of openapi() needs Swagger UI. Run `npm install swagger-ui-dist`, or remove the option.',
      { cause },
    )
  }
}
