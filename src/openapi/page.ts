import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { DeclarationError, HttpError, type Context } from '../index.js'

/** Serves the page of Swagger UI for the document at a path, or a file that the page loads. */
export async function servePage(ctx: Context, documentPath: string): Promise<void> {
  const { file = 'index.html' } = ctx.params
  // The page loads its files by paths that are relative to this folder.
  if (!ctx.params['file'] && !ctx.path.endsWith('/')) return ctx.redirect(`${ctx.path}/`)
  ctx.type = extname(file)
  if (file === 'swagger-initializer.js') ctx.body = initializerOf(documentPath)
  else if (file === 'index.html') ctx.body = await pageOf(swaggerFolder())
  else await sendFile(ctx, file)
}

/** The page, whose files have addresses that change with the version of Swagger UI. Browsers keep these. */
async function pageOf(folder: string): Promise<string> {
  const page = await readFile(join(folder, 'index.html'), 'utf8')
  return page.replaceAll(/(?<=(?:href|src)=")(?:\.\/)?([\w-]+\.\w+)(?=")/g, `$1?v=${versionOf(folder)}`)
}

/**
 * Sends a file of Swagger UI in pieces, as the client reads it, or 304. A connection of the database is not
 * held meanwhile.
 *
 * @throws HttpError (404)
 */
async function sendFile(ctx: Context, file: string): Promise<void> {
  const folder = swaggerFolder()
  const path = join(folder, file)
  const stats = /^[\w-]+\.(css|js|png)$/.test(file) ? await stat(path).catch(() => undefined) : undefined
  if (!stats?.isFile()) throw new HttpError(404, `The page has no file ${file}.`)
  const version = versionOf(folder)
  ctx.set('Cache-Control', ctx.query['v'] === version ? 'max-age=31536000, immutable' : 'no-cache')
  ctx.etag = `${version}-${stats.size}`
  ctx.status = 200
  if (ctx.fresh) {
    ctx.status = 304
    return
  }
  ctx.body = createReadStream(path)
  ctx.length = stats.size
}

function versionOf(folder: string): string {
  const { version }: { version: string } = createRequire(join(folder, 'package.json'))('./package.json')
  return version
}

/** The script that shows the document. No validator of another host gets the document. */
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
