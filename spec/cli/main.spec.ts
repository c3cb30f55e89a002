import { expect } from 'chai'
import { rmSync } from 'node:fs'
import { kit, temporaryFolder } from '../support/kit.js'

describe('kit', () => {
  let folder: string

  before(() => {
    folder = temporaryFolder()
  })

  after(() => rmSync(folder, { recursive: true }))

  it('lists its commands', async () => {
    const { status, output } = await kit(folder, ['--help'])
    expect(status).to.equal(0)
    for (const name of ['new', 'routes', 'db', 'dev', 'start', 'console', 'info']) {
      expect(output).to.match(new RegExp(`^  ${name}\\b`, 'm'))
    }
  })

  it('says its version', async () => {
    expect((await kit(folder, ['--version'])).output).to.match(/^\d+\.\d+\.\d+$/)
  })

  for (const name of ['new', 'routes', 'db', 'dev', 'start', 'console', 'info']) {
    it(`shows the page of ${name}, with an example`, async () => {
      const { status, output } = await kit(folder, [name, '--help'])
      expect(status).to.equal(0)
      expect(output).to.include(`Usage: kit ${name}`).and.to.include(`Example:\n  $ kit ${name}`)
    })
  }

  const MISTAKES: [args: string[], sentence: string][] = [
    [['route'], 'There is no command "route". Did you mean "routes"? `kit --help` lists the commands.'],
    [['xyzzyx'], 'There is no command "xyzzyx". `kit --help` lists the commands.'],
    [['new'], "Missing required argument 'name'. `--help` shows how the command is used."],
    [
      ['new', 'blog', '--ap'],
      "Unknown option '--ap'. Did you mean --api? `--help` shows how the command is used.",
    ],
    [
      ['new', 'blog', '--db', 'oracle'],
      "Option '--db <engine>' argument 'oracle' is invalid. Allowed choices are sqlite, postgres, mysql. `--help` shows how the command is used.",
    ],
    [
      ['new', 'My Blog'],
      '"My Blog" is no name for an application. Use lower-case letters, digits and single dashes, like "my-blog".',
    ],
    [
      ['new', 'typeorm'],
      '"typeorm" is the name of a package that the application needs. Choose another one.',
    ],
  ]
  for (const [args, sentence] of MISTAKES) {
    it(`answers "kit ${args.join(' ')}" with one sentence and status 1`, async () => {
      expect(await kit(folder, args)).to.deep.equal({ status: 1, output: '', errors: sentence })
    })
  }

  for (const args of [['routes'], ['db', 'migrate'], ['start'], ['dev'], ['console'], ['info']]) {
    it(`says that "kit ${args.join(' ')}" needs an application`, async () => {
      const { status, errors } = await kit(folder, args)
      expect(status).to.equal(1)
      expect(errors).to.match(
        /^\S+ is not in an application: no package.json here or above depends on resource-kit. Go to/,
      )
      expect(errors.split('\n')).to.have.length(1)
    })
  }
})
