import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { App, DeclarationError } from '../../src/index.js'
import { sessionSecrets } from '../../src/sessions/secrets.js'
import { Signer } from '../../src/sessions/signer.js'
import { root } from '../support/kit.js'
import { Site } from '../support/site.js'
import { temporaryFolder } from '../support/temporary-folder.js'

describe('The secret of an application in development', () => {
  const before = { folder: process.cwd(), secret: process.env['SESSION_SECRET'] }
  const checkouts: string[] = []

  beforeEach(() => {
    delete process.env['SESSION_SECRET']
    enterCheckout()
  })

  afterEach(() => {
    process.chdir(before.folder)
    if (before.secret !== undefined) process.env['SESSION_SECRET'] = before.secret
    for (const folder of checkouts.splice(0)) rmSync(folder, { recursive: true })
  })

  function enterCheckout(): void {
    const folder = temporaryFolder()
    checkouts.push(folder)
    process.chdir(folder)
  }

  /** The user who is signed in, for an application that starts in this folder and receives this cookie. */
  async function userOf(cookie: string): Promise<string> {
    const site = await Site.open(signIn())
    try {
      return (await site.get('/', { headers: { cookie } })).text
    } finally {
      await site.close()
    }
  }

  function signIn(env = 'development'): App {
    const app = new App({ env })
    app.get('/', (ctx) => void (ctx.body = String(ctx.session['user'])))
    app.get('/sign-in', (ctx) => {
      ctx.session['user'] = 'Ada'
      ctx.body = 'signed in'
    })
    return app
  }

  async function cookieOfAda(): Promise<string> {
    const site = await Site.open(signIn())
    try {
      return (await site.get('/sign-in')).headers.getSetCookie()[0]?.split(';')[0] ?? ''
    } finally {
      await site.close()
    }
  }

  it('is random for each checkout, and survives a restart', async () => {
    const cookie = await cookieOfAda()
    expect(await userOf(cookie)).to.equal('Ada')
    enterCheckout()
    expect(await userOf(cookie)).to.equal('undefined')
  })

  it('is not the public secret of specs', async () => {
    const content = { content: { user: 'Ada' }, _expire: Date.now() + 60_000, _maxAge: 60_000 }
    const value = Buffer.from(JSON.stringify(content)).toString('base64url')
    const forged = new Signer('_kit_session', sessionSecrets(undefined, 'test')).sign(value)
    expect(await userOf(`_kit_session=${forged}`)).to.equal('undefined')
  })

  it('is in .kit/secret, which only its owner can read', async () => {
    await cookieOfAda()
    expect(readFileSync('.kit/secret', 'utf8')).to.match(/^[\w-]{64,}\n$/)
    expect(statSync('.kit/secret').mode & 0o777).to.equal(0o600)
  })

  it('is the same for processes that start together', async () => {
    const secrets = join(root, 'dist/src/sessions/secrets.js')
    const code = `import { sessionSecrets } from ${JSON.stringify(secrets)}
      console.log(sessionSecrets(undefined, 'development')[0])`
    const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code])
    const outputs = await Promise.all([run(), run(), run(), run()])
    const [secret] = sessionSecrets(undefined, 'development')
    expect(outputs.map(({ stdout }) => stdout.trim())).to.deep.equal([secret, secret, secret, secret])
    expect(readdirSync('.kit')).to.deep.equal(['secret'])
  })

  it('is not written when SESSION_SECRET or the option secret is set, in specs, and by an API application', async () => {
    process.env['SESSION_SECRET'] = 'a secret'
    new App({ env: 'development' }).callback()
    delete process.env['SESSION_SECRET']
    new App({ env: 'development', secret: 'another' }).callback()
    new App({ env: 'development', api: true }).callback()
    new App({ env: 'test' }).callback()
    expect(existsSync('.kit')).to.equal(false)
  })

  it('stops the start if it is too short', () => {
    mkdirSync('.kit')
    writeFileSync('.kit/secret', 'short\n')
    expect(() => new App({ env: 'development' }).callback()).to.throw(
      DeclarationError,
      '.kit/secret has 5 characters, and a secret needs 32 or more. Delete the file: the next start writes it again.',
    )
  })

  it('stops the start if it cannot be written', () => {
    writeFileSync('.kit', '')
    expect(() => new App({ env: 'development' }).callback()).to.throw(
      DeclarationError,
      /^The secret of sessions cannot be kept in \.kit\/secret \(E\w+\)\. Make the folder writable, or set SESSION_SECRET\.$/,
    )
  })
})
