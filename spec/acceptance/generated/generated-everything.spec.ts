import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { wordsOf } from '../../support/documentation/output.js'
import { unformatted } from '../../support/formatted.js'
import { environment, kit, newApplication } from '../../support/kit.js'

/** The commands in order, with the title of what each adds to AGENTS.md, and those that take them back. */
const steps = [
  ['auth --sessions', 'auth', 'Accounts'],
  ['team branch --roles owner,clerk', 'team branch', 'Branches'],
  [
    'resource customer name notes:nulls.text --owner branch --trash --spec full',
    'resource customer',
    'Trash',
  ],
  ['resource product title price:decimal --trash --csv --bulk destroy', 'resource product', 'Many records'],
  [
    'resource album title cover:image --nested "track name seconds:int" --history --spec full',
    'resource album',
    'Files',
  ],
  ['job clean_up days:int --schedule @daily', 'job clean_up', 'Jobs'],
] as const

describe('A generated application with everything', () => {
  let folder: string
  let remove: () => void
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
      cwd: folder,
      encoding: 'utf8',
    })
  const agents = (): string => readFileSync(join(folder, 'AGENTS.md'), 'utf8')

  before(async () => {
    ;({ folder, remove } = await newApplication())
    git('init', '--quiet')
    commit()
  })
  after(() => remove())

  function commit(): void {
    git('add', '--all')
    git('commit', '--quiet', '--message', 'A step')
  }

  for (const [words, , title] of steps) {
    it(`is formatted after kit generate ${words}, and AGENTS.md says what is new`, async () => {
      expect(agents()).not.to.include(`- **${title}.**`)
      const { status, errors } = await kit(folder, ['generate', ...wordsOf(words)])
      expect(status, errors).to.equal(0)
      expect(agents()).to.include(`- **${title}.**`)
      const names = git('ls-files', '--modified', '--others', '--exclude-standard').trim().split('\n')
      const written = names.map((name) => [name, readFileSync(join(folder, name), 'utf8')])
      expect(await unformatted(Object.fromEntries(written))).to.deep.equal([])
      commit()
    })
  }

  it('passes the commands of its own CI workflow', function () {
    // It waits for programs, which end.
    this.timeout(0)
    const workflow = parse(readFileSync(join(folder, '.github/workflows/ci.yml'), 'utf8'))
    const commands: string[] = workflow.jobs.test.steps.flatMap(({ run }: { run?: string }) => run ?? [])
    expect(commands).to.include.members(['npm ci', 'npm run check', 'npm test'])
    // The placeholder specs of products fail until somebody replaces them.
    git('rm', '--quiet', '-r', 'spec/actions/products.spec.ts', 'spec/models/product.spec.ts')
    for (const command of commands.filter((one) => one !== 'npm ci')) {
      const env = environment({ PATH: `${join(folder, 'node_modules/.bin')}:${process.env['PATH']}` })
      const run = spawnSync('sh', ['-c', command], { cwd: folder, env, encoding: 'utf8' })
      expect(run.status, `${command}: ${run.stdout}${run.stderr}`).to.equal(0)
    }
    git('reset', '--quiet', '--hard')
    expect(git('status', '--porcelain')).to.equal('')
  })

  for (const [index, [, words, title]] of [...steps.entries()].toReversed()) {
    it(`is as before after kit destroy ${words}`, async () => {
      const { status, errors } = await kit(folder, ['destroy', ...words.split(' '), '-y'])
      expect(status, errors).to.equal(0)
      expect(agents()).not.to.include(`- **${title}.**`)
      git('add', '--all')
      expect(git('diff', '--cached', '--name-status', `HEAD~${steps.length - index}`)).to.equal('')
    })
  }
})
