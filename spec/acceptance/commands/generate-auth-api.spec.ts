import { expect } from 'chai'
import { authActions, authDestruction, type AuthOptions } from '../../../src/generator/auth-generator.js'
import { destroy, generate } from '../../../src/generator/files/files.js'
import { resourceActions } from '../../../src/generator/resource-generator.js'
import { Application } from '../../support/applications/generated.js'

// The specs of sessions and pages are run without tokens, too.
const kinds = [
  ['an API application', Application.api, {}, '.'],
  ['a web application', Application.web, { api: true }, 'TokensResource|PostsResource|AdminMembersResource'],
] as const

describe('kit generate auth --api', () => {
  for (const [kind, make, options, specsToRun] of kinds) {
    describe(`in ${kind}`, () => {
      let application: Application

      beforeEach(() => {
        application = make()
      })

      afterEach(() => application.remove())

      function generateAuth(name = 'user', more: AuthOptions = {}): void {
        generate(application.folder, authActions(application.folder, name, { ...options, ...more }))
      }

      for (const signUp of [true, false]) {
        it(`is taken back by kit destroy auth, ${signUp ? 'with' : 'without'} sign-up`, async () => {
          const before = application.tree()
          generateAuth('user', { signUp })
          expect(application.tree()).to.include.keys('src/models/api_token.ts', 'src/actions/tokens.ts')
          const { actions } = authDestruction(application.folder, 'user', async () => false)
          await destroy(application.folder, actions, { confirm: () => Promise.resolve(true) })
          expect(application.tree()).to.deep.equal(before)
        })
      }

      it('writes formatted files whose specs pass, for a model of any name', async () => {
        generateAuth('member')
        const post = { attributes: ['title'], owner: 'member' }
        generate(application.folder, resourceActions(application.folder, 'post', post))
        const administration = { attributes: ['email'], useModel: 'member', spec: 'full' } as const
        generate(application.folder, resourceActions(application.folder, 'admin/member', administration))
        expect(await application.unformatted()).to.deep.equal([])
        expect(application.compile()).to.deep.equal({ status: 0, output: '' })
        const specs = application.runSpecs('--grep', specsToRun)
        expect(specs.status, specs.output).to.equal(0)
      })
    })
  }
})

describe('kit generate auth in an API application', () => {
  let application: Application

  beforeEach(() => {
    application = Application.api()
  })

  afterEach(() => application.remove())

  it('generates bearer tokens without --api, too, and inserts the routes above the resources', () => {
    const { folder } = application
    const plain = authActions(folder, 'user', { now: new Date(0) })
    const explicit = authActions(folder, 'user', { now: new Date(0), api: true })
    expect(JSON.stringify(plain)).to.equal(JSON.stringify(explicit))
    generate(folder, resourceActions(folder, 'post', { attributes: ['title'] }))
    generate(folder, plain)
    const lines = application
      .read('src/app.ts')
      .split('\n')
      .filter((line) => /^app\.(resource|use|extend)/.test(line))
    expect(lines).to.deep.equal([
      'app.use(parameterLogger())',
      'app.use(transaction(database))',
      "app.use(translations('locales'))",
      'app.extend(mailer())',
      'app.use(authenticateUser)',
      'app.resource(PasswordResetResource)',
      'app.resource(SignUpResource)',
      'app.resource(TokensResource)',
      'app.use(requireUser())',
      'app.resource(AccountResource)',
      'app.resource(PostsResource)',
    ])
  })

  it('is taken back above a resource', async () => {
    const { folder } = application
    generate(folder, resourceActions(folder, 'post', { attributes: ['title'] }))
    const before = application.tree()
    generate(folder, authActions(folder, 'user'))
    const { actions } = authDestruction(folder, 'user', async () => false)
    await destroy(folder, actions, { confirm: () => Promise.resolve(true) })
    expect(application.tree()).to.deep.equal(before)
  })

  it('adds the translated texts to each language of the application, except its name', () => {
    application.write('locales/pages.de.yaml', '- id: pages.home\n  translation: Start\n')
    generate(application.folder, authActions(application.folder, 'user'))
    const german = application.read('locales/authentication.de.yaml')
    expect(german.match(/^.*\n.*\n {2}translation: ''$/gm)).to.deep.equal([
      "# Blog\n- id: pages.name\n  translation: ''",
    ])
    expect(german).to.include('alle API-Tokens sind beendet')
  })

  it('rejects the options that add pages', () => {
    for (const option of ['confirm', 'sessions']) {
      expect(() => authActions(application.folder, 'user', { [option]: true })).to.throw('add pages')
    }
  })
})
