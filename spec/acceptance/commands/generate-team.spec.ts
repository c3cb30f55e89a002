import { expect } from 'chai'
import { authActions } from '../../../src/generator/auth-generator.js'
import { destroy, generate } from '../../../src/generator/files/files.js'
import { resourceActions, resourceDestruction } from '../../../src/generator/resource-generator.js'
import { teamActions, teamDestruction, type TeamArguments } from '../../../src/generator/team-generator.js'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { Application } from '../../support/applications/generated.js'
import { describeOnce } from '../../support/engine.js'
import { kit } from '../../support/kit.js'

const yes = { confirm: () => Promise.resolve(true) }

describeOnce('kit generate team', () => {
  let application: Application

  beforeEach(() => {
    application = Application.web()
    generate(application.folder, authActions(application.folder, 'user', { api: true }))
  })

  afterEach(() => application.remove())

  const team = (word = 'branch', options: TeamArguments = {}) =>
    generate(application.folder, teamActions(application.folder, word, options))

  const resource = (word: string, options: ResourceArguments = {}) =>
    generate(application.folder, resourceActions(application.folder, word, options))

  function messageOf(work: () => unknown): string {
    try {
      work()
    } catch (error) {
      return String(error)
    }
    return ''
  }

  const variants: [word: string, options: TeamArguments][] = [
    ['branch', {}],
    ['branch', { roles: 'owner,manager,clerk,viewer', write: 'clerk', locking: true, history: true }],
    ['company', { api: true, history: true }],
    ['DistributionCenter', { roles: 'head,hand' }],
  ]

  for (const [word, options] of variants)
    it(`is taken back by kit destroy team: ${word} ${JSON.stringify(options)}`, async () => {
      const before = application.tree()
      team(word, options)
      expect(await application.unformatted()).to.deep.equal([])
      const { actions, remark } = teamDestruction(application.folder, word)
      for (const { path } of actions) expect(`${path}: ${await remark(path)}`).to.equal(`${path}: undefined`)
      await destroy(application.folder, actions, yes)
      expect(application.tree()).to.deep.equal(before)
    })

  it('is taken back by the command, which reports nothing edited', async () => {
    const { folder } = application
    const before = application.tree()
    const generated = await kit(folder, ['generate', 'team', 'branch'])
    expect(generated.errors).to.equal('')
    expect(generated.output).to.include(
      'Next: `kit db migrate`, and `kit generate resource` with --owner branch.',
    )
    const destroyed = await kit(folder, ['destroy', 'team', 'branch', '-y'])
    expect(destroyed.output).to.not.include('edited')
    expect(application.tree()).to.deep.equal(before)
    const again = await kit(folder, ['destroy', 'team', 'branch', '-y'])
    expect(again.errors).to.equal('No team has the name "branch": none of its files exist.')
  })

  it('adds the texts to each language of the application, all of them in German, Spanish and French', async () => {
    const languages = ['de', 'fr', 'es', 'it']
    for (const language of languages)
      application.write(`locales/pages.${language}.yaml`, '- id: pages.name\n  translation: Blog\n')
    const before = application.tree()
    team('branch', { roles: 'owner,manager,clerk,viewer' })
    const texts = (language: string) => application.read(`locales/membership.${language}.yaml`)
    const ids = (language: string) => texts(language).match(/^- id: .*/gm)
    const placeholders = (language: string) =>
      texts(language)
        .match(/\{\{\w+\}\}/g)
        ?.toSorted()
    for (const language of ['de', 'fr', 'es']) {
      expect(ids(language)).to.deep.equal(ids('en-us'))
      expect(texts(language)).to.not.match(/translation: (''|"")$/m)
      expect(placeholders(language)).to.deep.equal(placeholders('en-us'))
    }
    expect(texts('it')).to.include("# Members\n- id: memberships\n  translation: ''\n")
    await destroy(application.folder, teamDestruction(application.folder, 'branch').actions, yes)
    expect(application.tree()).to.deep.equal(before)
  })

  it('begins create and update at --write, and destroy one role above', () => {
    team('branch', { roles: 'owner,manager,clerk,viewer', write: 'clerk' })
    resource('rental', { attributes: ['number'], owner: 'branch', route: ['return:post'] })
    const policy = application.read('src/policies/rental.ts')
    const roles = [...policy.matchAll(/^ {2}(\w+)\(.*\n.*atLeast\('(\w+)'/gm)].map(([, name, role]) => [
      name,
      role,
    ])
    expect(roles).to.deep.equal([
      ['create', 'clerk'],
      ['update', 'clerk'],
      ['return', 'clerk'],
      ['destroy', 'manager'],
    ])
  })

  it('refuses to be destroyed while a resource belongs to it', async () => {
    team()
    resource('rental', { attributes: ['number'], owner: 'branch' })
    expect(messageOf(() => teamDestruction(application.folder, 'branch'))).to.include(
      'src/policies/rental.ts use the branch. Remove that first, for example with `kit destroy resource`',
    )
    await destroy(application.folder, resourceDestruction(application.folder, 'rental').actions, yes)
    expect(messageOf(() => teamDestruction(application.folder, 'branch'))).to.equal('')
  })

  it('rejects roles and names that a team cannot have', () => {
    const roles = (text: string, write?: string) =>
      messageOf(() => team('branch', { roles: text, ...(write && { write }) }))
    expect(roles('owner')).to.include('--roles has 1 roles. Name 2 to 10 roles')
    expect(roles('a,b,c,d,e,f,g,h,i,j,k')).to.include('--roles has 11 roles.')
    expect(roles('owner,member,owner')).to.include('names a role twice')
    expect(roles('owner,2nd')).to.include('has a role that is not a name')
    expect(roles('owner,member', 'clerk')).to.include('--write clerk is not one of the roles: owner, member.')
    for (const word of ['role', 'membership', 'Invitation', 'user'])
      expect(messageOf(() => team(word))).to.include(`A team cannot be named "${word}"`)
    expect(messageOf(() => team('admin/branch'))).to.include('A team has no namespace.')
    team()
    expect(messageOf(() => team('company'))).to.include('The application has a team already: branch.')
    expect(messageOf(() => teamDestruction(application.folder, 'company'))).to.include(
      'Use `kit destroy team branch`.',
    )
    const without = Application.web()
    expect(messageOf(() => teamActions(without.folder, 'branch'))).to.include(
      'Run `kit generate auth` first.',
    )
    without.remove()
  })

  it('rejects resources that cannot be in a team', () => {
    team()
    resource('country', { attributes: ['name'] })
    const message = (word: string, options: ResourceArguments) => messageOf(() => resource(word, options))
    expect(message('rental', { parent: 'branch' })).to.include(
      'Use --owner branch instead of --parent branch.',
    )
    expect(message('profile', { owner: 'branch', singular: true })).to.include(
      'Generate it without --singular.',
    )
    expect(message('city', { owner: 'branch', parent: 'country' })).to.include(
      'The path /countries/{country_id}/cities names no branch.',
    )
    expect(message('rental', { owner: 'branch', route: ['role:post'] })).to.include('reserved in a policy')
    resource('rental', { attributes: ['number'], owner: 'branch' })
    expect(message('admin/rental', { useModel: 'rental' })).to.include('whose policy the handlers must ask')
  })

  it('leaves resources with --parent and --owner user as they are', () => {
    resource('branch', { attributes: ['name'], owner: 'user' })
    resource('customer', { attributes: ['name', 'email'], parent: 'branch' })
    resource('rental', { attributes: ['number', 'customer:references'], parent: 'branch' })
    expect(application.read('src/models/rental.ts')).to.include("@Within('branch')")
    expect(application.read('templates/rentals/index.pug')).to.not.include('can(')
  })

  it('says what is missing in tokens that were edited', async () => {
    const path = 'src/actions/tokens.ts'
    application.write(
      path,
      application
        .read(path)
        .replace("fields: ['name', 'expires_at']", 'fields: TOKEN_FIELDS')
        .replace(' expires_at?: string', ' expires_at?: Date'),
    )
    const { output } = await kit(application.folder, ['generate', 'team', 'branch'])
    expect(output).to.include(
      'src/actions/tokens.ts was edited, so tokens of one branch are missing in it: add branch_id.',
    )
  })
})
