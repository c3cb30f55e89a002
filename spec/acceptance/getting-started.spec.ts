import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { codeBlocks, namedFile } from '../support/code-blocks.js'
import { environment, kit, kitFile, linkPackages, root, temporaryFolder } from '../support/kit.js'

const blocks = codeBlocks().filter(({ page }) => page === 'docs/getting-started.md')

/** Whoever follows the guide does this with each block, from the first to the last. */
describe('docs/getting-started.md', function () {
  this.timeout(120_000)
  const parent = temporaryFolder()
  const folder = join(parent, 'blog')

  let server: DevelopmentServer | undefined

  after(async () => {
    await server?.stop()
    rmSync(parent, { recursive: true, force: true })
  })

  for (const block of blocks) {
    const file = namedFile(block)
    if (file) {
      it(`line ${block.line}: ${file} is written`, () => {
        mkdirSync(dirname(join(folder, file)), { recursive: true })
        writeFileSync(join(folder, file), block.code)
      })
    }
    for (const line of block.language === 'sh' ? block.code.trim().split('\n') : []) {
      it(`line ${block.line}: ${line}`, () => follow(line))
    }
  }

  /** Runs a line of a shell. The development server goes on, as the guide says. */
  async function follow(line: string): Promise<void> {
    const [program = '', ...words] = line.replace(/^npx /, '').match(/"[^"]*"|'[^']*'|\S+/g) ?? []
    const args = words.map((word) => word.replaceAll(/^["']|["']$/g, ''))
    const [command] = args
    if (program === 'cd') return
    if (program === 'npm') return npm(...args)
    if (program === 'curl') return visit(args)
    expect(program).to.equal('kit')
    if (command === 'dev') server = await DevelopmentServer.start(folder)
    else if (command === 'new') await makeApplication(args)
    else succeed(await kit(folder, args))
  }

  async function makeApplication(args: string[]): Promise<void> {
    succeed(await kit(parent, [...args, '--skip-install', '--kit', '^0.1.0']))
    linkPackages(folder)
  }

  /** What curl would send. */
  async function visit(args: string[]): Promise<void> {
    const headers = args.filter((_, index) => args[index - 1] === '-H').map((header) => header.split(': '))
    const body = args.find((_, index) => args[index - 1] === '-d')
    const path = new URL(args.at(-1) ?? '').pathname
    const answer = await fetch((server?.url ?? '') + path, {
      headers: headers as [string, string][],
      ...(body && { method: 'POST', body }),
    })
    expect(answer.ok).to.equal(true)
  }

  function npm(...args: string[]): void {
    const { status, stdout, stderr } = spawnSync('npm', args, {
      cwd: folder,
      encoding: 'utf8',
      env: environment({ npm_config_loglevel: 'error' }),
    })
    expect(stdout + stderr).to.match(/\d+ passing/)
    expect(status, stdout + stderr).to.equal(0)
  }

  it('is what the development server shows in the end', async () => {
    const answer = await fetch(`${server?.url}/posts`, { headers: { Accept: 'text/html' } })
    expect(answer.status).to.equal(200)
    expect(answer.headers.get('server-timing')).to.match(/^app;dur=/)
    expect(await answer.text()).to.include('Hello')
  })

  it('has code that is formatted', () => {
    const prettier = join(root, 'node_modules/.bin/prettier')
    const config = join(root, '.prettierrc.json')
    const written = blocks.flatMap((block) => namedFile(block) ?? [])
    const run = spawnSync(prettier, ['--check', '--config', config, ...written], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect(run.stdout + run.stderr).to.contain('All matched files use Prettier code style')
  })
})

function succeed({ status, errors }: { status: number | null; errors: string }): void {
  expect(errors).to.equal('')
  expect(status).to.equal(0)
}

/** `kit dev`, which goes on while the guide is followed. */
class DevelopmentServer {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(folder: string): Promise<DevelopmentServer> {
    const port = String(20_000 + Math.floor(Math.random() * 20_000))
    const child = spawn(process.execPath, [kitFile, 'dev'], {
      cwd: folder,
      env: environment({ PORT: port }),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for await (const line of createInterface(child.stdout)) if (line.startsWith('kit dev: ')) break
    child.stdout.resume()
    return new DevelopmentServer(`http://127.0.0.1:${port}`, child)
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit')
    this.child.kill()
    await ended
  }
}
