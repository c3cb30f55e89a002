import { spawnSync } from 'node:child_process'
import { expect } from 'chai'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { explain } from '../../src/cli/support/explain.js'
import { environment, kit, kitFile, root } from '../support/kit.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const COMMANDS =
  'new dev generate destroy routes openapi locales db build start work jobs files console query run info'.split(
    ' ',
  )

describe('kit', () => {
  let folder: string

  before(() => {
    folder = temporaryFolder()
  })

  after(() => rmSync(folder, { recursive: true }))

  it('lists its commands, those that you need first at the top', async () => {
    const { status, output } = await kit(folder, ['--help'])
    expect(status).to.equal(0)
    const listed = [...output.matchAll(/^  ([a-z]+)\b/gm)].map(([, name = '']) => name)
    expect(listed.filter((name) => name !== 'help')).to.deep.equal(COMMANDS)
  })

  it('prints no error when the program that reads its help has exited', () => {
    const run = spawnSync('sh', ['-c', `"${process.execPath}" "${kitFile}" new --help | true`], {
      cwd: folder,
      encoding: 'utf8',
      env: environment(),
    })
    expect(run.stderr).to.equal('')
  })

  it('explains what the system rejects about a file in one sentence', () => {
    const error = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES', path: '/srv/dist' })
    expect(explain(error)).to.equal('/srv/dist cannot be read or written: this user lacks the permission.')
  })

  it('prints its version', async () => {
    expect((await kit(folder, ['--version'])).output).to.match(/^\d+\.\d+\.\d+$/)
  })

  for (const name of COMMANDS) {
    it(`shows the help of ${name}, with an example`, async () => {
      const { status, output } = await kit(folder, [name, '--help'])
      expect(status).to.equal(0)
      expect(output).to.include(`Usage: kit ${name}`).and.to.include(`Example:\n  $ kit ${name}`)
    })
  }

  for (const page of [
    'generate resource',
    'generate migration',
    'generate team',
    'generate job',
    'generate locale',
    'destroy resource',
    'destroy team',
    'destroy job',
    'destroy locale',
  ]) {
    it(`shows the help of ${page}, with an example`, async () => {
      const { output } = await kit(folder, [...page.split(' '), '--help'])
      expect(output).to.include(`Usage: kit ${page}`).and.to.include(`Example:\n  $ kit ${page}`)
    })
  }

  const MISTAKES: [args: string[], sentence: string][] = [
    [['route'], 'There is no command "route". Did you mean "routes"? `kit --help` lists the commands.'],
    [['xyzzyx'], 'There is no command "xyzzyx". `kit --help` lists the commands.'],
    [
      ['generate', 'post', 'title'],
      'There is no command "generate post". Known commands: resource, model, auth, team, migration, job, locale, secret.',
    ],
    [
      ['destroy', 'post'],
      'There is no command "destroy post". Known commands: resource, model, auth, team, job, locale.',
    ],
    [['new'], "Missing required argument 'name'. Run the command with `--help` for its usage."],
    [
      ['new', 'blog', '--ap'],
      "Unknown option '--ap'. Did you mean --api? Run the command with `--help` for its usage.",
    ],
    [
      ['new', 'blog', '--db', 'oracle'],
      "Option '--db <engine>' argument 'oracle' is invalid. Allowed choices are sqlite, postgres, mysql. Run the command with `--help` for its usage.",
    ],
    [
      ['new', 'My Blog'],
      `"My Blog" isn't a valid name for an application. Use a lowercase letter first, then lowercase letters, digits and single ` +
        'dashes or underscores, at most 50 characters, like "my-blog".',
    ],
    [
      ['new', 'typeorm'],
      '"typeorm" is the name of a package that the application needs. Choose another name.',
    ],
    [
      ['new', 'blog', '--kit', '../resource-kit'],
      '--kit expects a version, like ^0.1.0, and ../resource-kit is a folder. To use a checkout, run the kit command of the ' +
        'checkout without --kit.',
    ],
  ]
  for (const [args, sentence] of MISTAKES) {
    it(`rejects "kit ${args.join(' ')}" with a one-line message and status 1`, async () => {
      expect(await kit(folder, args)).to.deep.equal({ status: 1, output: '', errors: sentence })
    })
  }

  it('explains why a new application cannot be written, and leaves no files', async () => {
    writeFileSync(join(folder, 'file'), '')
    const beneath = await kit(folder, ['new', 'file/blog', '--skip-install', '--kit', '^0.1.0'])
    expect(beneath.status).to.equal(1)
    expect(beneath.errors).to.match(/^\S+file\/blog cannot be written: ENOTDIR.*\.$/)
    expect(readdirSync(folder)).to.deep.equal(['file'])
  })

  it('reports an invalid port', async () => {
    const example = join(root, 'examples/blog')
    const { status, errors } = await kit(example, ['dev'], { env: { PORT: '99999' } })
    expect(status).to.equal(1)
    expect(errors).to.equal(`PORT is "99999", which isn't a valid port. Set it to a number from 0 to 65535.`)
  })

  for (const args of [
    ['routes'],
    ['openapi'],
    ['g', 'r', 'post'],
    ['d', 'r', 'post'],
    ['db', 'migrate'],
    ['start'],
    ['dev'],
    ['work'],
    ['jobs'],
    ['console'],
    ['run', 'src/jobs/nightly.ts'],
    ['info'],
  ]) {
    it(`reports that "kit ${args.join(' ')}" needs an application`, async () => {
      const { status, errors } = await kit(folder, args)
      expect(status).to.equal(1)
      expect(errors).to.match(
        /^\S+ is not in an application: no package.json here or above depends on resource-kit. Change to/,
      )
      expect(errors.split('\n')).to.have.length(1)
    })
  }
})
