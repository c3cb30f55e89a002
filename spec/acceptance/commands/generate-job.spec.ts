import { expect } from 'chai'
import { destroy, generate } from '../../../src/generator/files/files.js'
import { jobActions, jobDestruction, type JobGeneratorOptions } from '../../../src/generator/job-generator.js'
import { resourceActions } from '../../../src/generator/resource-generator.js'
import { Application } from '../../support/applications/generated.js'

describe('kit generate job', () => {
  let application: Application

  beforeEach(() => {
    application = Application.web()
  })

  afterEach(() => application.remove())

  const add = (name: string, options: JobGeneratorOptions = {}) =>
    generate(application.folder, jobActions(application.folder, name, options))

  async function takeBack(name: string): Promise<string[]> {
    const { actions } = jobDestruction(application.folder, name, async () => false)
    const lines: string[] = []
    await destroy(application.folder, actions, {
      confirm: () => Promise.resolve(true),
      print: (line) => lines.push(line),
    })
    return lines
  }

  it('writes formatted files whose specs pass, for several jobs', async () => {
    add('send_digest', {
      attributes: ['user_id:uuid', 'day:date', 'kind:enum:short,long', 'count:nulls.int'],
    })
    add('CleanUp', {
      queue: 'urgent',
      schedule: '0 3 * * *',
      timeZone: 'Europe/Berlin',
      attributes: ['days:int'],
    })
    add('recount_everything_that_was_counted_before')
    expect(await application.unformatted()).to.deep.equal([])
    expect(application.read('src/jobs.ts')).to.contain("queues: ['urgent', 'default']")
    expect(application.compile()).to.deep.equal({ status: 0, output: '' })
    expect(application.reportSpecs('dist/spec/jobs/*.spec.js')).to.deep.equal({ passes: 3, failures: [] })
  })

  it('writes a list of many jobs, beside handlers of jobs', () => {
    generate(application.folder, resourceActions(application.folder, 'job', { attributes: ['name'] }))
    const names = ['send_weekly_digest', 'send_welcome_mail', 'clean_up_sessions', 'import_products']
    for (const name of [...names, 'recount_stocks', 'expire_invitations', 'notify_users'])
      add(name, name === 'notify_users' ? { attributes: ['user_ids:many:user'] } : {})
    expect(application.read('src/jobs.ts')).to.not.include(', ,')
    expect(application.read('src/app.ts')).to.include("import { jobs } from './jobs.js'")
  })

  it('changes only the lists in src/jobs.ts, and keeps comments between the options', async () => {
    add('send_digest')
    const help = `export const help = 'Jobs { ${'run in the background, '.repeat(6)}} (see above)'\n`
    const options = '\n  jobs: [SendDigest],\n  // The order of priority.\n'
    const text = application.read('src/jobs.ts').replace('{ jobs: [SendDigest], ', `{${options}  `) + help
    application.write('src/jobs.ts', text)
    add('clean_up')
    expect(application.read('src/jobs.ts'))
      .to.contain(options.replace(']', ', CleanUp]'))
      .and.to.contain(help)
    await takeBack('clean_up')
    expect(application.read('src/jobs.ts')).to.equal(text)
  })

  it('declares the queue `default` once', () => {
    add('send_digest', { queue: 'default' })
    expect(application.read('src/jobs.ts')).to.contain("queues: ['default'] }")
  })

  for (const queue of ["it's", 'x,y', ''])
    it(`rejects the queue ${JSON.stringify(queue)}`, () => {
      expect(() => add('send_digest', { queue })).to.throw(
        `--queue "${queue}" isn't the name of a queue. Use letters, digits, _ and -.`,
      )
    })

  for (const name of ['job', 'job_context', 'Schedule'])
    it(`rejects the name ${name}, which the file imports`, () => {
      expect(() => add(name)).to.throw(`A job cannot be named "${name}", because its file imports`)
    })

  it('is taken back by kit destroy job, with its set-up if it was the last one', async () => {
    const before = application.tree()
    add('send_digest', { attributes: ['user_id:uuid'] })
    const withFirst = application.tree()
    add('clean_up', { schedule: '0 3 * * *' })
    await takeBack('clean_up')
    expect(application.tree()).to.deep.equal(withFirst)
    const lines = await takeBack('send_digest')
    expect(application.tree()).to.deep.equal(before)
    expect(lines.filter((line) => line.endsWith('src/app.ts'))).to.deep.equal(['   update  src/app.ts'])
  })

  it('names the tables differently beside a model Job', () => {
    application.write('src/models/job.ts', 'export class Job {}\n')
    add('send_digest')
    expect(application.read('src/jobs.ts')).to.contain("prefix: 'background_'")
    const [migration = ''] = Object.keys(application.tree()).filter((path) =>
      path.endsWith('_create_background_jobs.ts'),
    )
    expect(application.read(migration)).to.contain("jobTables(runner, { prefix: 'background_' })")
  })
})
