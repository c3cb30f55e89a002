// Lints the OpenAPI documents of the examples, of generated applications with accounts and of the application with everything, and runs
// a client that openapi-typescript and openapi-fetch make from them. Compiles that of docs/openapi.md.
// Build first, with the examples, and run `npm ci --prefix scripts/clients`.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import 'reflect-metadata'
import { buildDocument, documentsOf } from '../../dist/src/openapi/document.js'
import { toText } from '../../dist/src/openapi/serve.js'
import { documentedApplication } from '../../dist/spec/support/applications/documented.js'
import { Application } from '../../dist/spec/support/applications/generated.js'
import { authActions } from '../../dist/src/generator/auth-generator.js'
import { generate } from '../../dist/src/generator/files/files.js'
import { resourceActions } from '../../dist/src/generator/resource-generator.js'
import { Item, linesApp, linesDatabase, openLinesAt } from '../../dist/spec/support/applications/lines.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const here = join(root, 'scripts/clients')
const kit = join(root, 'dist/src/cli/main.js')
const generated = join(here, 'generated')
const folder = mkdtempSync(join(tmpdir(), 'kit-clients-'))
mkdirSync(generated, { recursive: true })

const { app } = await documentedApplication()
for (const [index, declared] of documentsOf(app.declarations, {}).entries())
  writeFileSync(
    file(index === 0 ? 'library' : `library-${index}`),
    toText(buildDocument(app.declarations, declared).document),
  )
const linesTables = await openLinesAt(await linesDatabase())
const lines = linesApp(linesTables)
const [linesDeclared] = documentsOf(lines.declarations, { title: 'Orders', version: '1' })
const linesDocument = toText(buildDocument(lines.declarations, linesDeclared).document)
writeFileSync(file('lines'), linesDocument)
for (const name of ['blog', 'members'])
  run(process.execPath, [kit, 'openapi', '--out', file(name)], { cwd: join(root, 'examples', name) })

writeAccounts('accounts', Application.web(), { confirm: true, sessions: true, api: true })
writeAccounts('accounts-api', Application.api(), {})

const names = ['blog', 'members', 'accounts', 'accounts-api', 'library', 'library-1', 'library-2', 'lines']
const documents = names.map(file)
run(bin('redocly'), ['lint', '--extends', 'recommended', '--format', 'summary', ...documents])
for (const name of ['blog', 'library', 'lines'])
  run(bin('openapi-typescript'), [file(name), '-o', join(generated, `${name}.d.ts`)])
if (/unknown\[\]/.test(readFileSync(join(generated, 'lines.d.ts'), 'utf8')))
  throw new Error('The types of the lines contain unknown[].')
const [, handbook = ''] =
  /```typescript\n(.*?)```/s.exec(readFileSync(join(root, 'docs/openapi.md'), 'utf8')) ?? []
writeFileSync(join(generated, 'handbook.ts'), handbook.replace("'./api.js'", "'./blog.js'"))
const options = [
  '--strict',
  '--module',
  'nodenext',
  '--target',
  'es2022',
  '--skipLibCheck',
  '--types',
  'node',
]
const sources = [join(here, 'client.ts'), join(generated, 'handbook.ts')]
run(bin('tsc'), [...sources, ...options, '--typeRoots', join(root, 'node_modules/@types')])

const blog = startBlog()
try {
  const urls = [await blog.address, await app.listen(0, '127.0.0.1'), await lines.listen(0, '127.0.0.1')]
  const item = await linesTables.manager.save(Object.assign(new Item(), { name: 'Screw', user_id: 'me' }))
  // This process serves the library, so it must not block.
  const { stdout } = await promisify(execFile)(process.execPath, [join(here, 'client.js'), ...urls, item.id])
  process.stdout.write(stdout)
} finally {
  blog.stop()
  await app.close()
  await lines.close()
  await linesTables.close()
  rmSync(folder, { recursive: true })
}

/** Writes the document of a generated application with accounts, and with posts that a user owns. */
function writeAccounts(name, application, auth) {
  const { folder } = application
  generate(folder, authActions(folder, 'user', auth))
  generate(folder, resourceActions(folder, 'post', { attributes: ['title'], owner: 'user' }))
  application.linkPackages()
  run(process.execPath, [kit, 'openapi', '--out', file(name)], { cwd: folder })
  application.remove()
}

/** Starts examples/blog with a database of its own. */
function startBlog() {
  const child = spawn(process.execPath, [kit, 'start', '--migrate'], {
    cwd: join(root, 'examples/blog'),
    env: {
      ...process.env,
      GO_ENV: 'development',
      PORT: '0',
      DATABASE_URL: `sqlite:${join(folder, 'blog.sqlite')}`,
    },
  })
  const address = new Promise((resolve, reject) => {
    const read = (chunk) => {
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(chunk.toString()) ?? []
      if (url) resolve(url)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', (chunk) => process.stderr.write(chunk))
    child.once('exit', (status) => reject(new Error(`The blog exited with status ${status}.`)))
  })
  return { address, stop: () => child.kill() }
}

function file(name) {
  return join(generated, `${name}.json`)
}

function bin(name) {
  return join(here, 'node_modules/.bin', name)
}

function run(program, args, given = {}) {
  execFileSync(program, args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, REDOCLY_TELEMETRY: 'off' },
    ...given,
  })
}
