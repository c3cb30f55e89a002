import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { codeBlocks, namedFile } from '../../support/documentation/code-blocks.js'
import { patternOf, sendByCurl, wordsOf } from '../../support/documentation/output.js'
import { unformatted } from '../../support/formatted.js'
import { environment, kit, linkPackages, type Run } from '../../support/kit.js'
import { isAddition, withMethods } from '../../support/applications/merged-example.js'
import { DevelopmentServer } from '../../support/processes/development-server.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

/** Each page continues with the application of the page before it. */
const PAGES = ['', '-changes', '-services', '-accounts'].map((part) => `docs/getting-started${part}.md`)
const blocks = PAGES.flatMap((name) => codeBlocks().filter(({ page }) => page === name))

/** The development server in the guide. The spec uses another port. */
const documentedUrl = 'http://127.0.0.1:3000'

/** A reader follows the guide block by block, from the first to the last. */
describe('docs/getting-started*.md', function () {
  const parent = temporaryFolder()
  const folder = join(parent, 'blog')

  let server: DevelopmentServer | undefined

  after(async () => {
    await stopServer()
    rmSync(parent, { recursive: true, force: true })
  })

  for (const [index, block] of blocks.entries()) {
    const file = namedFile(block)
    if (file) {
      it(`${block.page}:${block.line}: writes ${file}`, async () => {
        await stopServer()
        const path = join(folder, file)
        mkdirSync(dirname(path), { recursive: true })
        const { code } = block
        writeFileSync(path, isAddition(code) ? withMethods(readFileSync(path, 'utf8'), code) : code)
      })
    } else if (block.language === 'ts') {
      it(`${block.page}:${block.line}: src/actions/posts.ts contains the excerpt`, () => {
        const generated = readFileSync(join(folder, 'src/actions/posts.ts'), 'utf8')
        expect(withoutComments(generated)).to.include(block.code)
      })
    }
    if (block.language !== 'sh') continue
    const lines = block.code.trim().split('\n')
    const documented = blocks[index + 1]?.language === '' ? blocks[index + 1]?.code.trimEnd() : undefined
    it(`${block.page}:${block.line}: ${lines.join('; ')}`, async () => {
      const outputs: string[] = []
      for (const line of lines) outputs.push(await follow(line, documented))
      if (documented !== undefined) expect(outputs.filter(Boolean).join('\n')).to.match(patternOf(documented))
    })
  }

  /** Runs a line of a shell and returns its output. The development server keeps running. */
  async function follow(line: string, documented: string | undefined): Promise<string> {
    const [program = '', ...args] = wordsOf(line.replace(/^npx /, ''))
    const [command] = args
    if (program === 'cd') return ''
    if (program === 'npm') return npm(...args)
    if (program === 'curl') return visitUntil(args, documented)
    expect(program).to.equal('kit')
    if (command === 'new') return makeApplication(args)
    if (command === 'dev') {
      server = await DevelopmentServer.start(folder)
      return server.output.replace(server.url, documentedUrl)
    }
    await stopServer()
    return succeed(await kit(folder, args))
  }

  /** Ends the development server before a change. It would compile and start the application after each file. */
  async function stopServer(): Promise<void> {
    await server?.stop()
    server = undefined
  }

  async function makeApplication(args: string[]): Promise<string> {
    const output = succeed(await kit(parent, [...args, '--skip-install', '--kit', '^0.1.0']))
    linkPackages(folder)
    return output.replace('  npm install\n', '')
  }

  /** Requests the page until the development server runs the code that returns the documented response. */
  async function visitUntil(args: string[], documented: string | undefined): Promise<string> {
    server ??= await DevelopmentServer.start(folder)
    const deadline = Date.now() + 100_000
    for (;;) {
      const text = await sendByCurl(args, server.url)
      if (documented === undefined || patternOf(documented).test(text) || Date.now() > deadline) return text
      await delay(50)
    }
  }

  function npm(...args: string[]): string {
    const { status, stdout, stderr } = spawnSync('npm', args, {
      cwd: folder,
      encoding: 'utf8',
      env: environment({ npm_config_loglevel: 'error' }),
    })
    expect(status, stdout + stderr).to.equal(0)
    return /^.* passing .*$/m.exec(stdout)?.[0] ?? stdout
  }

  it('ends with the code that the development server shows', async () => {
    const response = await fetch(`${server?.url}/notes`, { headers: { Accept: 'text/html' } })
    expect(new URL(response.url).pathname).to.equal('/session/new')
    expect(response.headers.get('server-timing')).to.match(/^app;dur=/)
    const mails = await fetch(`${server?.url}/kit/mails`)
    expect(await mails.text()).to.include('ada@example.com')
  })

  it('has formatted code', async () => {
    const paths = blocks.flatMap((block) => namedFile(block) ?? [])
    const written = Object.fromEntries(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]))
    expect(await unformatted(written)).to.deep.equal([])
  })
})

function succeed({ status, output, errors }: Run): string {
  expect(errors).to.equal('')
  expect(status).to.equal(0)
  return output
}

/** Code without its doc comments. */
function withoutComments(code: string): string {
  return code.replaceAll(/^ *\/\*\*[^]*?\*\/\n/gm, '')
}
