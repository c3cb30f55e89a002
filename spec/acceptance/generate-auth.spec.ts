import { expect } from 'chai'
import { authActions } from '../../src/generator/auth-generator.js'
import { authDestruction } from '../../src/generator/auth-destroyer.js'
import { destroy, generate } from '../../src/generator/files.js'
import { Application } from '../support/generated.js'
import { root } from '../support/kit.js'

describe('kit generate auth', () => {
  let application: Application

  beforeEach(() => {
    application = Application.web()
  })

  afterEach(() => application.remove())

  const yes = { confirm: () => Promise.resolve(true) }

  for (const signUp of [true, false]) {
    it(`is taken back by kit destroy auth, ${signUp ? 'with' : 'without'} sign-up`, async () => {
      const before = application.tree()
      generate(application.folder, authActions(application.folder, 'user', { signUp }))
      expect(application.read('src/app.ts')).to.include('app.use(requireUser())')
      const { actions } = authDestruction(application.folder, 'user', async () => false)
      await destroy(application.folder, actions, yes)
      expect(application.tree()).to.deep.equal(before)
    })
  }

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
      'app.resource(RegistrationResource)',
      'app.resource(PasswordResetResource)',
      'app.use(requireUser())',
      'app.resource(AccountResource)',
      'app.resource(PostsResource)',
    ])
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

  it('writes formatted files whose specs pass, for a model of any name', function () {
    generate(application.folder, authActions(application.folder, 'member'))
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
    expect(paths).to.not.include('/account')
  })
})
