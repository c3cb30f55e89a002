import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { COMMANDS } from '../../../src/cli/command-list.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { kit, root } from '../../support/kit.js'

/** The first code block of a page in this language, below a heading. */
function codeOf(
  language: string,
  page = 'docs/how-to.md',
  heading = '## Write an application by hand',
): string {
  const text = readFileSync(join(root, page), 'utf8')
  const [, code] = new RegExp(`${heading}\n[^]*?\`\`\`${language}\n([^]*?)\`\`\``).exec(text) ?? []
  if (code === undefined) throw new Error(`${page} has no code block in the language ${language}.`)
  return code
}

describe('The packed package with the application by hand of docs/how-to.md', () => {
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
    writeFileSync(join(folder, 'src/middleware.ts'), codeOf('ts', 'docs/middleware.md', '# Middleware'))
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

  it('has each source in one chunk, and loads in a few files', () => {
    const compiled = join(folder, 'node_modules/resource-kit/dist/src')
    const files = readdirSync(compiled, { recursive: true, encoding: 'utf8' })
    const sources = files
      .filter((file) => file.endsWith('.js.map'))
      .flatMap((file) => {
        const map: { sources: string[] } = JSON.parse(readFileSync(join(compiled, file), 'utf8'))
        return map.sources.map((source) => join(compiled, dirname(file), source))
      })
    expect(sources.filter((source, index) => sources.indexOf(source) !== index)).to.deep.equal([])
    expect(sources.filter((source) => !existsSync(source))).to.deep.equal([])
    expect(sources).to.include(join(folder, 'node_modules/resource-kit/src/application/application.ts'))
    expect(loadedWith(join(compiled, 'index.js')).size).to.be.below(55)
  })

  it('finds its own files, and its errors lead to src', () => {
    const script = `
      import 'reflect-metadata'
      import { Database, ValidationErrors } from 'resource-kit'
      import { checkPassword } from 'resource-kit/auth'
      const user = new (class User { email = 'ada@example.com' })()
      const ctx = { translate: (key) => key }
      console.log(checkPassword(ctx, new ValidationErrors(user), user, 'password1'))
      try { new Database({}, 'nowhere') } catch (error) { console.log(error.stack) }`
    const output = execFileSync(
      process.execPath,
      ['--enable-source-maps', '--input-type=module', '--eval', script],
      { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const [, file = '', line = ''] = /resource-kit\/(src\/database\/\S+\.ts):(\d+)/.exec(output) ?? []
    expect(output).to.match(/^false/)
    const source = readFileSync(join(folder, 'node_modules/resource-kit', file), 'utf8').split('\n')
    expect(source[Number(line) - 1]).to.include('throw new')
  })

  it('has every command', () => {
    const main = join(folder, 'node_modules/resource-kit/dist/src/cli/main.js')
    const run = (...args: string[]): string =>
      execFileSync(process.execPath, [main, ...args], { cwd: join(folder, 'my-shop'), encoding: 'utf8' })
    expect(run('generate', 'resource', 'post', 'title')).to.include('create  src/models/post.ts')
    expect(run('generate', '--help')).to.include('Usage: kit generate')
    const commands = join(folder, 'node_modules/resource-kit/dist/src/cli/commands')
    expect(readdirSync(commands).filter((file) => file.endsWith('.js'))).to.include.members(
      COMMANDS.map(({ name }) => `${name}.js`),
    )
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

/** A compiled file, and all of the package's own that its imports load. */
function loadedWith(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded
  loaded.add(file)
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/^(?:import|export) .*?"(\.[^"]+)";$/gm))
    loadedWith(join(dirname(file), path), loaded)
  return loaded
}

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
