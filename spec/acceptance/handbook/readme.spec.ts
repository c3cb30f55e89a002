import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { codeBlocks } from '../../support/documentation/code-blocks.js'
import { patternOf, sendByCurl, wordsOf } from '../../support/documentation/output.js'
import { environment, kit, linkPackages } from '../../support/kit.js'
import { DevelopmentServer } from '../../support/processes/development-server.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

/** The commands of README.md, from its quick start on, in order, and the output that follows the last one. */
const shown = codeBlocks().filter(({ page }) => page === 'README.md')
const start = shown.findIndex(({ code }) => code.startsWith('git clone'))
const blocks = shown.slice(start).filter(({ language }) => language === 'sh' || language === '')
const lines = blocks.flatMap(({ code }) => code.trim().split('\n'))
const curl = lines.findIndex((line) => line.startsWith('curl '))

describe('The commands of README.md', () => {
  const parent = temporaryFolder()
  const folder = join(parent, 'blog')
  let server: DevelopmentServer | undefined

  after(async () => {
    await server?.stop()
    rmSync(parent, { recursive: true, force: true })
  })

  it('are at most eight until the first record is in the browser', () => {
    expect(lines.slice(0, curl)).to.have.length.within(5, 8)
    expect(lines[curl - 1]).to.equal('npx kit dev')
  })

  // This checkout is what the commands before these install and link.
  for (const line of lines.slice(lines.indexOf('kit new blog'), curl)) {
    it(line, async () => {
      const [program, ...args] = wordsOf(line.replace(/^npx /, ''))
      if (program === 'cd') return expect(args).to.deep.equal(['blog'])
      expect(program).to.equal('kit')
      if (args[0] === 'dev') return void (server = await DevelopmentServer.start(folder))
      const own = args[0] === 'new' ? ['--skip-install', '--kit', '^0.1.0'] : []
      const { status, errors } = await kit(args[0] === 'new' ? parent : folder, [...args, ...own])
      expect(status, errors).to.equal(0)
      if (args[0] === 'new') linkPackages(folder)
    })
  }

  it('create a record by curl, which a browser then sees', async () => {
    const url = server?.url ?? ''
    const [, ...args] = wordsOf(lines[curl] ?? '')
    expect(await sendByCurl(args, url)).to.match(patternOf(lines[curl + 1] ?? ''))
    const page = await fetch(`${url}/posts`, { headers: { Accept: 'text/html' } })
    expect(await page.text()).to.include('>Hello</a>')
  })

  it('leave an application whose npm test is green', () => {
    const output = execFileSync('npm', ['--silent', 'test'], {
      cwd: folder,
      env: environment(),
      encoding: 'utf8',
    })
    expect(output)
      .to.match(/\d{2,} passing/)
      .and.not.include('failing')
  })
})
