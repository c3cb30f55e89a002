import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { DeclaredDocument } from '../extension.js'
import { DeclarationError, html, HttpError, type Context } from '../index.js'

/** The files of Swagger UI that its page loads. */
const FILES = new Map([
  ['swagger-ui.css', 'text/css'],
  ['swagger-ui-bundle.js', 'text/javascript'],
  ['favicon-32x32.png', 'image/png'],
])

/** The page of a document. Its scripts and styles come from the application itself. */
export function servePage(ctx: Context, { page = '', path, options }: DeclaredDocument): void {
  const content = html`<!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${options.title}</title>
        <link rel="icon" href="${page}/favicon-32x32.png" />
        <link rel="stylesheet" href="${page}/swagger-ui.css" />
      </head>
      <body>
        <div id="page" data-url="${path}"></div>
        <script src="${page}/swagger-ui-bundle.js"></script>
        <script src="${page}/start.js"></script>
      </body>
    </html> `
  ctx.type = 'html'
  ctx.body = String(content)
}

/** The script of the page. No validator of another host gets the document. */
const start = `const { url } = document.getElementById('page').dataset
SwaggerUIBundle({ url, dom_id: '#page', deepLinking: true, validatorUrl: null })
`

/** Serves a file of the page. */
export async function servePageFile(ctx: Context): Promise<void> {
  const { file = '' } = ctx.params
  const type = FILES.get(file)
  if (file !== 'start.js' && type === undefined) throw new HttpError(404, `The page has no file ${file}.`)
  ctx.type = type ?? 'text/javascript'
  ctx.body = type === undefined ? start : await readFile(join(swaggerFolder(), file))
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
      'The "page" option of app.openapi needs Swagger UI. Run `npm install swagger-ui-dist`, or remove the option.',
      { cause },
    )
  }
}
