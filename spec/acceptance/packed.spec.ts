import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { temporaryFolder } from '../support/temporary-folder.js'
import { kit, root } from '../support/kit.js'

/** The first code block of a page in this language. */
function codeOf(language: string, page = 'docs/by-hand.md'): string {
  const [, code] =
    new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(readFileSync(join(root, page), 'utf8')) ?? []
  if (code === undefined) throw new Error(`${page} has no code block in the language ${language}.`)
  return code
}

describe('The packed package with the application of docs/by-hand.md', () => {
  let folder: string
  let server: ChildProcess | undefined

  let dependency = ''

  before(async () => {
    folder = temporaryFolder()
    const run = await kit(folder, ['new', 'my-shop', '--skip-install'])
    expect(run.status, run.errors).to.equal(0)
    const manifest = JSON.parse(readFileSync(join(folder, 'my-shop/package.json'), 'utf8'))
    dependency = manifest.dependencies['resource-kit']
    const tarball = join(folder, 'my-shop', dependency.slice('file:'.length))
    const installed = join(folder, 'node_modules', 'resource-kit')
    mkdirSync(installed, { recursive: true })
    execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
    linkDependencies(join(folder, 'node_modules'))
    mkdirSync(join(folder, 'src'))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'notes', type: 'module' }))
    writeFileSync(join(folder, 'tsconfig.json'), codeOf('json'))
    writeFileSync(join(folder, 'src/app.ts'), codeOf('ts'))
    writeFileSync(join(folder, 'src/middleware.ts'), codeOf('ts', 'docs/middleware.md'))
  })

  after(() => {
    server?.kill()
    rmSync(folder, { recursive: true })
  })

  it('is the dependency of an application that a checkout has created', () => {
    expect(dependency).to.match(/^file:vendor\/resource-kit-.*\.tgz$/)
    const installed = join(folder, 'node_modules/resource-kit')
    for (const file of ['dist/src/cli/main.js', 'scaffolds/application/common/gitignore'])
      expect(existsSync(join(installed, file)), file).to.equal(true)
  })

  it('compiles under strict', () => {
    execFileSync(join(root, 'node_modules/.bin/tsc'), { cwd: folder, stdio: 'inherit' })
  })

  it('runs', async () => {
    server = spawn(process.execPath, ['dist/app.js'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], PORT: '0', GO_ENV: 'development' },
    })
    const address = await addressOf(server)
    const created = await fetch(`${address}/notes`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ text: 'It works' }),
    })
    expect(created.status).to.equal(201)
    const shown = await fetch(address + created.headers.get('location'))
    expect(await shown.json()).to.include({ text: 'It works' })
    const rejected = await fetch(`${address}/notes`, {
      method: 'POST',
      body: '{}',
      headers: { 'Content-Type': 'application/json' },
    })
    expect(rejected.status).to.equal(422)
    const missing = await fetch(address + created.headers.get('location'), { method: 'DELETE' })
    expect(await missing.json()).to.include({ status: 404, detail: 'resource not implemented' })
  })
})

/** The other packages that the application installs, copied from this checkout instead of the registry. */
function linkDependencies(modules: string): void {
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (!name.startsWith('.') && name !== 'resource-kit')
      symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
}

function addressOf(server: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    let output = ''
    server.once('exit', () => failed(new Error(output)))
    for (const stream of [server.stdout, server.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        const address = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]
        if (address) found(address)
      })
    }
  })
}
