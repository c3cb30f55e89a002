import { expect } from 'chai'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { authActions, type AuthOptions } from '../../src/generator/auth-generator.js'
import { authDestruction } from '../../src/generator/auth-destroyer.js'
import { destroy, generate } from '../../src/generator/files/files.js'
import { Application } from '../support/applications/generated.js'
import { resourceDestruction } from '../../src/generator/resource-destroyer.js'
import { resourceActions } from '../../src/generator/resource-generator.js'
import { root } from '../support/kit.js'

describe('kit generate auth', () => {
  let application: Application

  beforeEach(() => {
    application = Application.web()
  })

  afterEach(() => application.remove())

  const yes = { confirm: () => Promise.resolve(true) }

  const all = { confirm: true, sessions: true }
  const variants: AuthOptions[] = [{}, { signUp: false }, { confirm: true }, { sessions: true }, all]

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
    const post = { attributes: ['title', 'body:nulls.Text'], owner: 'user', now: now(1) }
    // Each file is what the generator writes now.
    generate(folder, authActions(folder, 'user', { now: now(0) }), { force: true })
    generate(folder, resourceActions(folder, 'post', post), { force: true })
    expect(application.tree()).to.deep.equal(example)
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

  it('refuses an API application, and is not taken back while another file uses the model', () => {
    const api = Application.api()
    expect(() => authActions(api.folder, 'user')).to.throw('which has no sessions')
    api.remove()
    generate(application.folder, authActions(application.folder, 'user'))
    application.write(
      'src/owners.ts',
      "import { User } from './models/user.js'\nexport const owners: User[] = []\n",
    )
    expect(() => authDestruction(application.folder, 'user', async () => false)).to.throw(
      'src/owners.ts uses the model User. Remove that first',
    )
  })

  it('writes formatted files whose specs pass, with all options and for a model of any name', function () {
    // It waits for programs, which end.
    this.timeout(0)
    const { folder } = application
    generate(folder, authActions(folder, 'member', all))
    generate(folder, resourceActions(folder, 'post', { attributes: ['title'], owner: 'member' }))
    const parent = { attributes: ['text'], parent: 'post', fullSpec: true }
    generate(folder, resourceActions(folder, 'comment', parent))
    application.write('.prettierrc.json', JSON.stringify({ printWidth: 110, singleQuote: true, semi: false }))
    const format = application.run('prettier', '--check', 'src', 'spec', 'migrations')
    expect(format.status, format.output).to.equal(0)
    const build = application.run('node', `${root}/dist/src/cli/main.js`, 'build')
    expect(build.status, build.output).to.equal(0)
    const specs = application.run('mocha', '--exit')
    expect(specs.status, specs.output).to.equal(0)
    const routes = application.run('node', `${root}/dist/src/cli/main.js`, 'routes', '--public', '--json')
    const paths = (JSON.parse(routes.output) as { path: string }[]).map(({ path }) => path)
    expect(paths).to.include.members(['/', '/session/new', '/registration/new', '/password_reset/edit'])
    expect(paths).to.include('/confirmation/edit')
    expect(paths).to.not.include.members(['/account']).and.not.include('/account/sessions')
  })
})
