import { execFileSync, spawnSync } from 'node:child_process'
import { expect } from 'chai'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { unformatted } from '../../support/formatted.js'
import { environment, kit, newApplication, root } from '../../support/kit.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

/** The files of a folder, with their contents. Links are left out: `recursive` follows them on Node 24, without an end. */
function filesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isFile()) return [[entry.name, readFileSync(path, 'utf8')]]
    const inside = entry.isDirectory() ? Object.entries(filesIn(path)) : []
    return inside.map(([name, content]) => [`${entry.name}/${name}`, content])
  })
  return Object.fromEntries(files)
}

describe('kit new blog', () => {
  let folder: string

  before(() => {
    folder = temporaryFolder()
  })

  after(() => rmSync(folder, { recursive: true }))

  it('writes examples/blog as it is before it has resources', async () => {
    const run = await kit(folder, ['new', 'blog', '--skip-install', '--skip-git', '--kit', '^0.1.0'])
    expect(run.status).to.equal(0)
    expect(run.output).to.equal(
      [
        'created blog with 29 files',
        '',
        'Next:',
        '  cd blog',
        '  npm install',
        '  npx kit generate resource post title description:nulls.text --search title,description --spec full',
        '  npx kit db migrate',
        '  npx kit dev',
        '',
        'Then visit http://127.0.0.1:3000.',
      ].join('\n'),
    )
    const written = filesIn(join(folder, 'blog'))
    expect(Object.keys(written).toSorted()).to.deep.equal([
      '.dockerignore',
      '.editorconfig',
      '.env.example',
      '.github/workflows/ci.yml',
      '.gitignore',
      '.mocharc.json',
      '.node-version',
      '.oxfmtrc.json',
      '.oxlintrc.json',
      'AGENTS.md',
      'Dockerfile',
      'README.md',
      'locales/application.en-us.yaml',
      'ormconfig.ts',
      'package.json',
      'public/application.css',
      'public/application.js',
      'public/favicon.svg',
      'spec/actions/home.spec.ts',
      'spec/support/app.ts',
      'spec/support/environment.ts',
      'spec/support/setup.ts',
      'src/actions/home.ts',
      'src/app.ts',
      'src/database.ts',
      'src/main.ts',
      'templates/home.pug',
      'templates/layout.pug',
      'tsconfig.json',
    ])
    for (const [name, content] of Object.entries(written)) {
      // The example depends on its checkout, which its README builds first.
      const example = readFileSync(join(root, 'examples/blog', name), 'utf8')
        .replace('"file:../.."', '"^0.1.0"')
        .replace(/^\(cd .*\n/m, '')
      expect(content, name).to.equal(name === 'src/app.ts' ? withoutResources(example) : example)
    }
  })

  it('makes a Git repository without a commit, unless there is one around it', async () => {
    const { output } = await kit(folder, ['new', 'tracked', '--skip-install', '--kit', '^0.1.0'])
    expect(output).to.match(/^created tracked with 29 files, in a new Git repository\n/)
    const status = execFileSync('git', ['status', '--porcelain'], {
      cwd: join(folder, 'tracked'),
      encoding: 'utf8',
    })
    expect(status).to.match(/^\?\? \.dockerignore\n/)
    const inside = await kit(join(folder, 'tracked'), ['new', 'inner', '--skip-install', '--kit', '^0.1.0'])
    expect(inside.output).to.match(/^created inner with 29 files\n/)
    expect(existsSync(join(folder, 'tracked/inner/.git'))).to.equal(false)
  })

  it('rejects a folder that is not empty, and leaves it as it is', async () => {
    mkdirSync(join(folder, 'full'))
    writeFileSync(join(folder, 'full', 'mine.txt'), 'mine')
    expect(await kit(folder, ['new', 'full', '--skip-install'])).to.deep.equal({
      status: 1,
      output: '',
      errors: 'The folder full is not empty: it contains mine.txt. Choose another name, or empty it.',
    })
    expect(filesIn(join(folder, 'full'))).to.deep.equal({ 'mine.txt': 'mine' })
  })

  it('rejects the name of an existing file', async () => {
    writeFileSync(join(folder, 'file'), '')
    const { status, errors } = await kit(folder, ['new', 'file', '--skip-install'])
    expect(status).to.equal(1)
    expect(errors).to.equal('file is a file. Choose another name, or move it away.')
  })

  it('names a two-word application in all places, and depends on the given version', async () => {
    await kit(folder, ['new', 'my-shop', '--skip-install', '--kit', '~0.1.0'])
    const app = readFileSync(join(folder, 'my-shop/src/app.ts'), 'utf8')
    expect(app).to.include("sessionName: '_my_shop_session'")
    expect(readFileSync(join(folder, 'my-shop/locales/application.en-us.yaml'), 'utf8')).to.include(
      'Welcome to My Shop',
    )
    const { dependencies } = JSON.parse(readFileSync(join(folder, 'my-shop/package.json'), 'utf8'))
    expect(dependencies['resource-kit']).to.equal('~0.1.0')
  })

  for (const [engine, url, driver] of [
    ['postgres', 'postgres://postgres:postgres@127.0.0.1:5432/my_api_test', 'pg'],
    ['mysql', 'mysql://root@127.0.0.1:3306/my_api_test', 'mysql2'],
  ] as const) {
    it(`creates an application for ${engine}`, async () => {
      const parent = join(folder, engine)
      mkdirSync(parent)
      await kit(parent, ['new', 'my-api', '--api', '--db', engine, '--skip-install', '--kit', '^0.1.0'])
      expect(readFileSync(join(parent, 'my-api/ormconfig.ts'), 'utf8')).to.include(`test: { url: '${url}' }`)
      expect(readFileSync(join(parent, 'my-api/README.md'), 'utf8')).to.include('`npx kit db create`')
      const compose = readFileSync(join(parent, 'my-api/compose.yaml'), 'utf8')
      const workflow = readFileSync(join(parent, 'my-api/.github/workflows/ci.yml'), 'utf8')
      expect(Object.keys(parse(compose).services)).to.deep.equal(['database'])
      expect(parse(workflow).jobs.test.services.database.image).to.equal(
        parse(compose).services.database.image,
      )
      const manifest = JSON.parse(readFileSync(join(parent, 'my-api/package.json'), 'utf8'))
      expect(manifest.dependencies).to.have.property(driver)
      expect(manifest.dependencies).not.to.have.property('better-sqlite3')
    })
  }
})

for (const [kind, options] of [
  ['web', []],
  ['API', ['--api']],
] as const) {
  describe(`A new ${kind} application`, function () {
    let application: Awaited<ReturnType<typeof newApplication>>

    before(async () => {
      application = await newApplication(...options)
    })

    after(() => application.remove())

    it('is formatted', async () => {
      expect(await unformatted(filesIn(application.folder))).to.deep.equal([])
    })

    it('passes its own specs, on their own database', () => {
      const output = execFileSync('npm', ['--silent', 'test'], {
        cwd: application.folder,
        env: environment({ TEST_DATABASE_URL: '' }),
        encoding: 'utf8',
      })
      expect(output).to.match(/[12] passing/)
      expect(
        readdirSync(join(application.folder, 'db')).filter((it) => it.endsWith('.sqlite')),
      ).to.deep.equal(['test.sqlite'])
    })

    it('has no pages if it is an API', () => {
      expect(existsSync(join(application.folder, 'templates'))).to.equal(kind === 'web')
    })

    it('passes its own check, with what can be generated into it', async () => {
      for (const words of [
        'auth',
        'resource post title body:nulls.text tags:json price:decimal --owner user --locking --spec full',
        'resource comment body:text --parent post --spec full',
        'job clean_up days:int --schedule @daily',
      ]) {
        const { status, errors } = await kit(application.folder, ['generate', ...words.split(' ')])
        expect(status, errors).to.equal(0)
      }
      const check = spawnSync('npm', ['run', '--silent', 'check'], {
        cwd: application.folder,
        env: environment(),
        encoding: 'utf8',
      })
      expect(check.status, check.stdout + check.stderr).to.equal(0)
    })

    it('follows its Dockerfile', () => {
      const { folder } = application
      const text = readFileSync(join(folder, 'Dockerfile'), 'utf8')
      const [, build = ''] = /^RUN npm ci && (.+) && npm ci --omit=dev$/m.exec(text) ?? []
      execFileSync('sh', ['-c', build], { cwd: folder, env: environment(), stdio: 'pipe' })
      const [, command = ''] = /^CMD \["(.+)", "start"\]$/m.exec(text) ?? []
      expect(existsSync(join(folder, command))).to.equal(true)
    })
  })
}

/** src/app.ts as it was before two resources were generated. */
function withoutResources(text: string): string {
  return text.replaceAll(/^.*(Posts|Comments)Resource.*\n/gm, '')
}
