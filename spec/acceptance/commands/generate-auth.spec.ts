import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { authActions, authDestruction, type AuthOptions } from '../../../src/generator/auth-generator.js'
import { destroy, generate, type CreateFile } from '../../../src/generator/files/files.js'
import { localeActions } from '../../../src/generator/locale-generator.js'
import { Application } from '../../support/applications/generated.js'
import { resourceActions, resourceDestruction } from '../../../src/generator/resource-generator.js'
import { kit, root } from '../../support/kit.js'

describe('kit generate auth', () => {
  let application: Application

  beforeEach(() => {
    application = Application.web()
  })

  afterEach(() => application.remove())

  const yes = { confirm: () => Promise.resolve(true) }

  const all = { confirm: true, sessions: true }
  const variants: AuthOptions[] = [
    {},
    { signUp: false },
    { confirm: true },
    { sessions: true },
    all,
    { api: true, confirm: true, sessions: true },
  ]

  for (const options of variants) {
    it(`is taken back by kit destroy auth, with the options ${JSON.stringify(options)}`, async () => {
      const before = application.tree()
      generate(application.folder, authActions(application.folder, 'member', options))
      expect(application.read('src/app.ts')).to.include('app.use(requireUser())')
      const { actions } = authDestruction(application.folder, 'member', async () => false)
      await destroy(application.folder, actions, yes)
      expect(application.tree()).to.deep.equal(before)
    })
  }

  it('is taken back without its name, and not with another one', async () => {
    const { folder } = application
    expect((await kit(folder, ['destroy', 'auth', '-y'])).errors).to.equal(
      'No model has the name "user": none of its files exist.',
    )
    const before = application.tree()
    expect(await kit(folder, ['generate', 'auth', 'member'])).to.include({ status: 0 })
    expect(await kit(folder, ['destroy', 'auth', 'user', '-y'])).to.include({
      status: 1,
      errors: 'The accounts have the model Member. Use `kit destroy auth member`.',
    })
    const { status, output } = await kit(folder, ['destroy', 'auth', '-y'])
    expect(status).to.equal(0)
    expect(output).to.not.include('edited')
    expect(application.tree()).to.deep.equal(before)
  })

  it('adds the texts to each language of the application, and destroy removes them', async () => {
    for (const language of ['de', 'fr', 'es', 'de-at', 'it'])
      application.write(`locales/pages.${language}.yaml`, '- id: pages.name\n  translation: Blog\n')
    const before = application.tree()
    generate(application.folder, authActions(application.folder, 'user', all))
    const texts = (language: string) => application.read(`locales/authentication.${language}.yaml`)
    const ids = (language: string) => texts(language).match(/^- id: .*/gm)
    const placeholders = (language: string) => texts(language).match(/\{\{\w+\}\}/g)
    for (const language of ['de', 'fr', 'es', 'de-at']) {
      expect(ids(language)).to.deep.equal(ids('en-us'))
      expect(texts(language)).to.not.match(/translation: (''|"")$/m)
      expect(placeholders(language)).to.deep.equal(placeholders('en-us'))
    }
    expect(texts('de')).to.include('- id: session.new\n  translation: Anmelden\n')
    expect(texts('de-at')).to.equal(texts('de'))
    expect(ids('it')).to.deep.equal(ids('en-us'))
    expect(texts('it')).to.include("# Sign in\n- id: session.new\n  translation: ''\n")
    const { actions } = authDestruction(application.folder, 'user', async () => false)
    await destroy(application.folder, actions, yes)
    expect(application.tree()).to.deep.equal(before)
  })

  it('writes texts that kit generate locale translates, and leaves those empty that were changed', () => {
    generate(application.folder, authActions(application.folder, 'user', all))
    const file = 'locales/authentication.en-us.yaml'
    application.write(file, application.read(file).replace('translation: Sign out', 'translation: Leave'))
    generate(application.folder, localeActions(application.folder, 'fr'))
    const french = application.read('locales/authentication.fr.yaml')
    expect(french).to.include('- id: session.new\n  translation: Se connecter\n')
    expect(french).to.include("# Leave\n- id: session.destroy\n  translation: ''\n")
    expect(french.match(/^ {2}translation: ''$/gm)).to.have.length(1)
  })

  it('shows the mails of development below authenticateUser, so that their pages have the user', () => {
    generate(application.folder, authActions(application.folder, 'user'))
    const lines = application.read('src/app.ts').split('\n')
    const places = [
      'app.extend(mailer())',
      'app.use(authenticateUser)',
      'mailInbox(app)',
      'app.use(requireUser())',
    ]
    expect(lines.filter((line) => places.includes(line))).to.deep.equal(places)
  })

  it('writes less than 400 lines of code in src', () => {
    const actions = authActions(application.folder, 'user')
    const sources = actions.filter(
      (action): action is CreateFile => 'content' in action && /^src\/.*\.ts$/.test(action.path),
    )
    const isCode = (line: string) => /\S/.test(line) && !/^\s*(\/\/|\/?\*)/.test(line)
    const lines = sources.flatMap(({ content }) => content.split('\n').filter(isCode))
    expect(lines.length).to.be.within(300, 399)
  })

  it('rejects --confirm without a sign-up', () => {
    const options = { confirm: true, signUp: false }
    expect(() => authActions(application.folder, 'user', options)).to.throw('Remove one of the two options.')
  })

  it('declares the pages of accounts above the resources, which need a sign-in', () => {
    application.write(
      'src/app.ts',
      application
        .read('src/app.ts')
        .replace("app.get('/', home)\n", "app.get('/', home)\napp.resource(PostsResource)\n"),
    )
    generate(application.folder, authActions(application.folder, 'user'))
    const lines = application
      .read('src/app.ts')
      .split('\n')
      .filter((line) => /^app\.(get|resource|use\((authenticate|require))/.test(line))
    expect(lines).to.deep.equal([
      'app.use(authenticateUser)',
      "app.get('/', home)",
      'app.resource(SessionResource)',
      'app.resource(PasswordResetResource)',
      'app.resource(RegistrationResource)',
      'app.use(requireUser())',
      'app.resource(AccountResource)',
      'app.resource(PostsResource)',
    ])
  })

  it('writes examples/members, with a resource that users own', () => {
    const { folder } = application
    rmSync(folder, { recursive: true })
    cpSync(join(root, 'examples/members'), folder, {
      recursive: true,
      filter: (file) => !/\/(node_modules|dist|db|\.kit)$/.test(file),
    })
    const example = application.tree()
    const now = (seconds: number) => new Date(1795132800000 + seconds * 1000)
    const post = { attributes: ['title', 'body:nulls.text'], owner: 'user', locking: true, now: now(1) }
    // Each file is what the generator writes now.
    generate(folder, authActions(folder, 'user', { now: now(0) }), { force: true })
    generate(folder, resourceActions(folder, 'post', post), { force: true })
    expect(application.tree()).to.deep.equal(example)
  })

  it('writes a sign-up without a confirmation whose specs pass', () => {
    const { DATABASE_URL: _, GO_ENV: __, ...env } = process.env
    const options = ['--no-config', '--exit', '--timeout', '60000', '--require', 'dist/spec/support/setup.js']
    const { status, stdout } = spawnSync(
      process.execPath,
      [join(root, 'node_modules/mocha/bin/mocha.js'), ...options, 'dist/spec/actions/registration.spec.js'],
      { cwd: join(root, 'examples/members'), encoding: 'utf8', env: { ...env, LOG_LEVEL: 'silent' } },
    )
    expect(stdout).to.include('creates one account if two visitors sign up with an address at once')
    expect(status, stdout).to.equal(0)
  })

  it('is taken back with the resources that users own', async () => {
    const before = application.tree()
    const { folder } = application
    expect(() => resourceActions(folder, 'post', { owner: 'user' })).to.throw('Run `kit generate auth` first')
    generate(folder, authActions(folder, 'user'))
    generate(folder, resourceActions(folder, 'post', { attributes: ['title'], owner: 'user' }))
    expect(() => authDestruction(folder, 'user')).to.throw('use the model User. Remove that first')
    await destroy(folder, resourceDestruction(folder, 'post').actions, yes)
    await destroy(folder, authDestruction(folder, 'user').actions, yes)
    expect(application.tree()).to.deep.equal(before)
  })

  it('is taken back where imports have double quotes and semicolons', async () => {
    const text = application.read('src/app.ts')
    application.write(
      'src/app.ts',
      text.replaceAll(/^import .*$/gm, (line) => `${line.replaceAll("'", '"')};`),
    )
    const before = application.tree()
    generate(application.folder, authActions(application.folder, 'user'))
    expect(application.read('src/app.ts')).to.contain('import { requireUser } from "resource-kit/auth";\n')
    await destroy(application.folder, authDestruction(application.folder).actions, yes)
    expect(application.tree()).to.deep.equal(before)
  })

  const long = `const help = 'Call us { ${'at any time, '.repeat(10)}} (or write)'`
  const forms: [before: string, after: string][] = [
    ['new App()', 'new App({ sessionStore: databaseSessions(database) })'],
    ['new App({ container })', 'new App({ container, sessionStore: databaseSessions(database) })'],
    [
      'new App({ container, cors: { origins: [] } });',
      'new App({ container, cors: { origins: [] }, sessionStore: databaseSessions(database) });',
    ],
    [
      'new App({\n  // The container.\n  container,\n  cors: { origins: [] },\n})',
      'new App({\n  sessionStore: databaseSessions(database),\n  // The container.\n  container,\n  cors: { origins: [] },\n})',
    ],
  ]
  for (const [call, after] of forms) {
    it(`adds the store of sessions to ${JSON.stringify(call)}, and changes no other lines`, async () => {
      const declaration = /new App\(.*/
      const text = application.read('src/app.ts').replace(declaration, `${call}\n${long}`)
      application.write('src/app.ts', text)
      const before = application.tree()
      generate(application.folder, authActions(application.folder, 'user'))
      expect(application.read('src/app.ts')).to.contain(`= ${after}\n${long}\n`)
      await destroy(application.folder, authDestruction(application.folder).actions, yes)
      expect(application.tree()).to.deep.equal(before)
    })
  }

  it('says what to add to src/app.ts if it cannot find the options of the application', async () => {
    const text = application.read('src/app.ts')
    const options =
      "const options = { container, sessionName: '_blog_session' }\nexport const app = new App(options)"
    application.write('src/app.ts', text.replace(/export const app = .*/, options))
    const { output } = await kit(application.folder, ['generate', 'auth'])
    expect(output).to.contain(
      'Add `sessionStore: databaseSessions(database)` to the options of `new App` in src/app.ts, and import `databaseSessions` from resource-kit. Without it, a copied cookie is valid after the sign-out.\n',
    )
    application.write('src/app.ts', text)
  })

  it('is not taken back while another file uses the model', () => {
    generate(application.folder, authActions(application.folder, 'user'))
    application.write(
      'src/owners.ts',
      "import { User } from './models/user.js'\nexport const owners: User[] = []\n",
    )
    expect(() => authDestruction(application.folder, 'user', async () => false)).to.throw(
      'src/owners.ts uses the model User. Remove that first',
    )
  })

  for (const name of ['account', 'Session', 'registration', 'password_reset'])
    it(`rejects the model ${name}, whose texts would have the ids of a page`, () => {
      expect(() => authActions(application.folder, name)).to.throw('Choose another name for the model')
    })

  for (const [title, change] of [
    ['double quotes', (text: string) => text.replaceAll("'", '"')],
    ['no route for /', (text: string) => text.replace("app.get('/', home)", "app.get('/home', home)")],
  ] as const)
    it(`makes later resources private in an application with ${title}`, () => {
      const { folder } = application
      application.write('src/app.ts', change(application.read('src/app.ts')))
      generate(folder, authActions(folder, 'user'))
      generate(folder, resourceActions(folder, 'note', { attributes: ['text'] }))
      const app = application.read('src/app.ts')
      expect(app.indexOf('app.use(requireUser())')).to.be.within(
        0,
        app.indexOf('app.resource(NotesResource)'),
      )
      expect(application.compile()).to.deep.equal({ status: 0, output: '' })
    })

  it('rejects a later resource whose texts have the ids of the pages', () => {
    generate(application.folder, authActions(application.folder, 'user'))
    expect(() => resourceActions(application.folder, 'account', { attributes: ['name'] })).to.throw(
      'The text "account" of accounts has the id of a text in another file in locales/. Choose another name.',
    )
  })

  it('rejects a model in a namespace', () => {
    expect(() => authActions(application.folder, 'admin/user')).to.throw('instead of "admin/user"')
  })

  it('writes formatted files whose specs pass, with all options and for a model of any name', async function () {
    // It waits for programs, which end.
    this.timeout(0)
    const { folder } = application
    generate(folder, authActions(folder, 'member', all))
    generate(folder, resourceActions(folder, 'post', { attributes: ['title'], owner: 'member' }))
    const parent = { attributes: ['text'], parent: 'post', spec: 'full' } as const
    generate(folder, resourceActions(folder, 'comment', parent))
    generate(folder, resourceActions(folder, 'admin/member', administration))
    expect(await application.unformatted()).to.deep.equal([])
    application.linkPackages()
    expect(await kit(folder, ['build'])).to.include({ status: 0, errors: '' })
    application.write('dist/spec/contract.spec.js', contract)
    const specs = application.runSpecs()
    expect(specs.status, specs.output).to.equal(0)
    expect(specs.output).to.include('allow 50 wrong passwords')
    const routes = await kit(folder, ['routes', '--public', '--json'])
    const paths = (JSON.parse(routes.output) as { path: string }[]).map(({ path }) => path)
    expect(paths).to.include.members(['/', '/session/new', '/registration/new', '/password_reset/edit'])
    expect(paths).to.include('/confirmation/edit')
    expect(paths).to.not.include.members(['/account']).and.not.include('/account/sessions')
  })
})

/** The options of a resource that adds and changes members. */
const administration = {
  attributes: ['email'],
  useModel: 'member',
  spec: 'full',
  filter: 'email',
  search: 'email',
} as const

/** A further spec of the generated application: limits across networks, and the work for known and unknown addresses. */
const contract = `
import crypto from 'node:crypto'
import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { expect } from 'chai'
import { mails } from 'resource-kit/mail'
import { client, isolate } from './support/app.js'
import { makeMember, password, signIn } from './support/members.js'

describe('The accounts', () => {
  isolate()
  beforeEach(() => mails.clear())

  /** The number of hashes that a request computes. */
  async function hashesOf(request) {
    const { scrypt } = crypto
    let count = 0
    crypto.scrypt = (...args) => (count++, scrypt(...args))
    syncBuiltinESMExports()
    try {
      await request()
      return count
    } finally {
      crypto.scrypt = scrypt
      syncBuiltinESMExports()
    }
  }

  it('cost the same work for known and unknown addresses', async () => {
    const { email } = await makeMember()
    const counts = {}
    for (const path of ['/session', '/registration', '/password_reset', '/confirmation']) {
      const post = (email) => client.post(path, { json: { email, password: 'a wrong password' }, accept: 'json' })
      counts[path] = [await hashesOf(() => post(email)), await hashesOf(() => post('new@example.com'))]
    }
    expect(counts).to.deep.equal({
      '/session': [1, 1],
      '/registration': [1, 1],
      '/password_reset': [0, 0],
      '/confirmation': [0, 0],
    })
  })

  it('let a member whom another one has added choose a password by a mail', async () => {
    await signIn(client, await makeMember())
    const json = { email: ' Grace@Example.com', password_hash: 'mine' }
    expect((await client.post('/admin/members', { json, accept: 'json' })).status).to.equal(201)
    const email = 'grace@example.com'
    const grace = client.another()
    for (const tried of ['', 'mine', password]) expect((await signIn(grace, { email }, tried)).status).to.equal(422)

    await grace.post('/password_reset', { form: { email } })
    await grace.get((await grace.get(mails.last.text.match(/[/]password_reset[/]open[/]\\S+/)[0])).location)
    await grace.post('/password_reset', { form: { _method: 'PUT', password } })
    expect((await signIn(grace, { email })).status).to.equal(303)
  })

  it('return the JSON that the OpenAPI document describes', async () => {
    const json = (method, path, json) => client[method](path, { json, accept: 'json' })
    const { email } = await makeMember()
    await signIn(client, { email })
    const [session] = (await json('get', '/account/sessions')).json
    expect((await json('delete', '/account/sessions')).status).to.equal(200)
    expect((await json('delete', '/account/sessions/' + session.id)).status).to.equal(200)

    expect((await json('post', '/confirmation', { email })).status).to.equal(200)
    expect((await json('post', '/password_reset', { email })).status).to.equal(200)
    expect((await json('put', '/password_reset', { password })).status).to.equal(400)
    await client.get(mails.last.text.match(/[/]password_reset[/]open[/]\\S+/)[0])
    expect((await json('put', '/password_reset', { password: 'short' })).status).to.equal(422)
    expect((await json('put', '/password_reset', { password })).json.email).to.equal(email)
  })

  /** The status of a sign-in from another network. */
  function statusFrom(localAddress, email, password) {
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json' }
    const options = { method: 'POST', localAddress, headers, agent: false }
    return new Promise((resolve, reject) => {
      const request = http.request(client.url + '/session', options, (response) => {
        response.resume().on('end', () => resolve(response.statusCode))
      })
      request.on('error', reject).end(JSON.stringify({ email, password }))
    })
  }

  it('allow 50 wrong passwords from all networks, until a reset by mail; sessions go on', async () => {
    const ada = await makeMember()
    await signIn(client, ada)
    for (let network = 2; network <= 6; network++)
      for (let attempt = 1; attempt <= 10; attempt++)
        expect(await statusFrom('127.0.0.' + network, ' ' + ada.email.toUpperCase(), 'wrong')).to.equal(401)
    expect(await statusFrom('127.0.0.7', ada.email, password)).to.equal(429)
    expect((await client.get('/account/edit')).status).to.equal(200)

    await client.get('/password_reset/new')
    await client.post('/password_reset', { form: { email: ada.email } })
    await client.get((await client.get(mails.last.text.match(/[/]password_reset[/]open[/]\\S+/)[0])).location)
    await client.post('/password_reset', { form: { _method: 'PUT', password: 'another long password' } })
    expect(await statusFrom('127.0.0.7', ada.email, 'another long password')).to.equal(200)
  })
})
`
