import { expect } from 'chai'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kit, kitProcess, newApplication, root, type Run } from '../../support/kit.js'

/** Files of src/jobs, which can use the database and the model Post. */
const jobs = {
  count: [
    "await database.transaction((tx) => tx.save(Object.assign(new Post(), { title: 'Hello' })))",
    'console.log(await database.manager.count(Post))',
    "process.once('exit', () => console.log(database.isInitialized))",
  ],
  arguments: ['console.log(JSON.stringify(process.argv.slice(2)))'],
  status: ['process.exitCode = 3'],
  failing: ["process.once('exit', () => console.log(database.isInitialized))", "throw new Error('no disk')"],
}

describe('kit run FILE', () => {
  let application: Awaited<ReturnType<typeof newApplication>>

  before(async () => {
    application = await newApplication()
    for (const folder of ['src/models', 'migrations']) {
      cpSync(join(root, 'examples/blog', folder), join(application.folder, folder), { recursive: true })
    }
    await kit(application.folder, ['db', 'migrate'])
    // The application is built now. The first command that runs one of these builds it again.
    mkdirSync(join(application.folder, 'src/jobs'))
    for (const [name, lines] of Object.entries(jobs)) {
      const imports = [
        "import { database } from '../database.js'",
        "import { Post } from '../models/post.js'",
        'export const used = [database, Post]',
      ]
      const file = join(application.folder, `src/jobs/${name}.ts`)
      writeFileSync(file, [...imports, ...lines, ''].join('\n'))
    }
  })
  after(() => application.remove())

  function run(job: keyof typeof jobs, args: string[] = [], command = kit): Promise<Run> {
    return command(join(application.folder, 'src/jobs'), ['run', `${job}.ts`, ...args])
  }

  it('runs a file of src with its database open, and closes the database', async () => {
    expect(await run('count', [], kitProcess)).to.deep.equal({ status: 0, output: '1\nfalse', errors: '' })
  })

  it('passes arguments', async () => {
    const { output } = await run('arguments', ['2026', '--dry-run'])
    expect(output).to.equal('["2026","--dry-run"]')
  })

  it('keeps the exit status that the file has set', async () => {
    expect(await run('status')).to.deep.equal({ status: 3, output: '', errors: '' })
  })

  it('exits with 1 and shows the line if the file throws an error', async () => {
    const { status, output, errors } = await run('failing', [], kitProcess)
    expect({ status, output }).to.deep.equal({ status: 1, output: 'false' })
    expect(errors).to.match(/^Error: no disk\n +at .*src\/jobs\/failing\.ts:5/)
  })

  it('sends no statement past the history of a model, as kit db seed and kit console', async () => {
    const { folder } = application
    await kit(folder, ['generate', 'model', 'memo', 'title', '--history'])
    const write = (path: string, lines: string[]) => writeFileSync(join(folder, path), lines.join('\n'))
    write('src/seeds.ts', [
      "import type { EntityManager } from 'typeorm'",
      "import { Memo } from './models/memo.js'",
      'export async function seed(tx: EntityManager) {',
      "  await tx.save(tx.create(Memo, { title: 'seed' }))",
      '}',
    ])
    write('src/jobs/memos.ts', [
      "import { database } from '../database.js'",
      "import { Memo } from '../models/memo.js'",
      "await database.manager.insert(Memo, { title: 'run' })",
    ])
    await kit(folder, ['db', 'migrate'])
    const input = 'await database.query("UPDATE memos SET title = \'console\'")'
    const runs = [
      await kit(folder, ['db', 'seed']),
      await kit(folder, ['run', 'src/jobs/memos.ts']),
      await kit(folder, ['console'], { input }),
    ]
    for (const { output, errors } of runs)
      expect(output + errors).to.include('This statement would change Memo without an entry in the history')
    write('src/jobs/memos.ts', [
      "import { withoutHistory } from 'resource-kit/history'",
      "import { database } from '../database.js'",
      "import { Memo } from '../models/memo.js'",
      "await withoutHistory(database.manager, 'Import of 2026', (tx) => tx.insert(Memo, { title: 'run' }))",
      "console.log(await database.query('SELECT title FROM memos'))",
      "console.log(await database.query('SELECT action, reason, source FROM history_entries'))",
    ])
    const { output } = await kit(folder, ['run', 'src/jobs/memos.ts'])
    expect(output.replaceAll(/\s+/g, ' ')).to.equal(
      "[ { title: 'run' } ] [ { action: 'unrecorded', reason: 'Import of 2026', source: 'kit run src/jobs/memos.ts' } ]",
    )
  })

  it('reports a missing file, and one outside of src', async () => {
    const fail = async (file: string) => (await kit(application.folder, ['run', file])).errors
    expect(await fail('src/jobs/nigthly.ts')).to.match(/^There is no src\/jobs\/nigthly\.ts in \S+\.$/)
    expect(await fail('migrations/1.ts')).to.equal(
      "migrations/1.ts isn't a TypeScript file in src/. Use a file like src/jobs/nightly.ts.",
    )
  })
})
