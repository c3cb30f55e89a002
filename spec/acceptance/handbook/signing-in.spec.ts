import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { codeBlocks, namedFile } from '../../support/documentation/code-blocks.js'
import { environment, kit, newApplication } from '../../support/kit.js'

/** The blocks of the recipe, the last section of the page with code. */
const page = codeBlocks().filter((block) => block.page === 'docs/authentication.md')
const blocks = page.slice(page.findIndex(({ code }) => code.includes('create_members')))

const imports = `
import {
  authenticate, normalizeEmail, requireUser, signIn, signOut, takeReturnTo, verifyPassword,
} from 'resource-kit/auth'
import { Member } from './models/member.js'
`

describe('An application with the sign-in of docs/authentication.md', () => {
  let folder: string
  let remove: () => void

  before(async () => {
    ;({ folder, remove } = await newApplication())
    for (const block of blocks) {
      const file = namedFile(block)
      if (file) write(file, block.code)
    }
    for (const line of codeWith('kit generate').split('\n')) {
      const [, command] = /^npx kit (.+)/.exec(line) ?? []
      if (command) expect((await kit(folder, command.split(' '))).errors).to.equal('')
    }
    appendFileSync(join(folder, 'templates/home.pug'), `  ${codeWith('!= actionButton')}`)
    const app = readFileSync(join(folder, 'src/app.ts'), 'utf8')
    // The home page is below the recipe's routes, so it is for members.
    write('src/app.ts', imports + app.replace("app.get('/', home)", (home) => codeWith("'/sign-in'") + home))
  })
  after(() => remove?.())

  it('creates the first member once', async () => {
    for (let times = 0; times < 2; times++) expect((await kit(folder, ['db', 'seed'])).errors).to.equal('')
    const count = await kit(folder, ['console'], { input: 'await database.manager.count(Member)\n' })
    expect(count.output).to.match(/\b1$/)
  })

  it('passes the spec of the page', async () => {
    expect((await kit(folder, ['build'])).errors).to.equal('')
    const mocha = spawn(
      process.execPath,
      ['node_modules/mocha/bin/mocha.js', '--exit', '--grep', 'Signing in'],
      {
        cwd: folder,
        env: environment(),
      },
    )
    const [output, errors, [status]] = await Promise.all([
      text(mocha.stdout),
      text(mocha.stderr),
      once(mocha, 'close'),
    ])
    expect(output + errors).to.include('3 passing')
    expect(status).to.equal(0)
  })

  function write(file: string, content: string): void {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), content)
  }
})

/** The first block of the page that contains a text and isn't a file. */
function codeWith(content: string): string {
  return blocks.find((block) => !namedFile(block) && block.code.includes(content))?.code ?? ''
}
