import { expect } from 'chai'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kit, kitProcess, newApplication, root, type Run } from '../support/kit.js'

describe('kit run FILE', function () {
  let application: Awaited<ReturnType<typeof newApplication>>

  before(async () => {
    application = await newApplication()
    for (const folder of ['src/models', 'migrations']) {
      cpSync(join(root, 'examples/blog', folder), join(application.folder, folder), { recursive: true })
    }
    mkdirSync(join(application.folder, 'src/jobs'))
    await kit(application.folder, ['db', 'migrate'])
  })
  after(() => application.remove())

  /** Runs a file with these lines, which can use the database and the model Post. */
  function run(lines: string, ...args: string[]): Promise<Run> {
    return runBy(kit, lines, ...args)
  }

  function runBy(command: typeof kit, lines: string, ...args: string[]): Promise<Run> {
    const imports = [
      "import { database } from '../database.js'",
      "import { Post } from '../models/post.js'",
      'export const used = [database, Post]',
    ]
    writeFileSync(join(application.folder, 'src/jobs/nightly.ts'), [...imports, lines, ''].join('\n'))
    return command(join(application.folder, 'src/jobs'), ['run', 'nightly.ts', ...args])
  }

  it('runs a file of src with its database open, and closes the database', async () => {
    const lines = [
      "await database.transaction((tx) => tx.save(Object.assign(new Post(), { title: 'Hello' })))",
      'console.log(await database.manager.count(Post))',
      "process.once('exit', () => console.log(database.isInitialized))",
    ]
    expect(await runBy(kitProcess, lines.join('\n'))).to.deep.equal({
      status: 0,
      output: '1\nfalse',
      errors: '',
    })
  })

  it('passes arguments', async () => {
    const { output } = await run('console.log(JSON.stringify(process.argv.slice(2)))', '2026', '--dry-run')
    expect(output).to.equal('["2026","--dry-run"]')
  })

  it('keeps the exit status that the file has set', async () => {
    expect(await run('process.exitCode = 3')).to.deep.equal({ status: 3, output: '', errors: '' })
  })

  it('exits with 1 and shows the line if the file throws an error', async () => {
    const lines = [
      "process.once('exit', () => console.log(database.isInitialized))",
      "throw new Error('no disk')",
    ]
    const { status, output, errors } = await runBy(kitProcess, lines.join('\n'))
    expect({ status, output }).to.deep.equal({ status: 1, output: 'false' })
    expect(errors).to.match(/^Error: no disk\n +at .*src\/jobs\/nightly\.ts:5/)
  })

  it('reports a missing file, and one outside of src', async () => {
    const fail = async (file: string) => (await kit(application.folder, ['run', file])).errors
    expect(await fail('src/jobs/nigthly.ts')).to.match(/^There is no src\/jobs\/nigthly\.ts in \S+\.$/)
    expect(await fail('migrations/1.ts')).to.equal(
      "migrations/1.ts isn't a TypeScript file in src/. Use a file like src/jobs/nightly.ts.",
    )
  })
})
