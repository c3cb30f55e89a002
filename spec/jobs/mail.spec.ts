import { expect } from 'chai'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import { App, transaction, type Database } from '../../src/index.js'
import { jobQueue, type JobQueue } from '../../src/jobs/index.js'
import { mailer, mails, sendMail, type MailerOptions } from '../../src/mail/index.js'
import { Anything, behavior, digestsDatabase, digestsUrl } from '../support/applications/digests.js'
import { Site } from '../support/site.js'
import { temporaryFolder } from '../support/temporary-folder.js'

describe('Mails of mailer({ jobs })', () => {
  const folder = temporaryFolder()
  let database: Database
  let jobs: JobQueue
  let site: Site

  before(() => {
    mkdirSync(join(folder, 'mails'))
    writeFileSync(join(folder, 'mails/welcome.pug'), 'p Hello #{name}\n')
  })

  beforeEach(async () => {
    database = digestsDatabase(await digestsUrl())
    behavior.perform = () => undefined
    mails.clear()
  })

  async function open(options: MailerOptions = {}, api = true): Promise<void> {
    jobs = jobQueue(database, { jobs: [Anything], queues: ['urgent', 'default'] })
    const app = new App({ api, templates: folder })
    app.use(transaction(database))
    app.extend(jobs)
    app.extend(mailer({ from: 'Shop <shop@example.com>', ...options, jobs }))
    app.post('/', async (ctx) => {
      const { status = 201, queued = true } = ctx.request.body as { status?: number; queued?: boolean }
      sendMail(ctx, { to: 'ada@example.com', name: 'welcome', locals: { name: 'Ada' }, queued })
      ctx.locale = 'fr'
      ctx.status = status
    })
    site = await Site.open(app)
  }

  const rows = () => database.query('SELECT name, state, attempts FROM jobs') as Promise<unknown[]>
  const subjects = () => mails.all.map(({ to, text }) => `${to}: ${text}`)

  it('are sent by a job of the request, and in specs collected once, after the commit', async () => {
    await open()
    await site.post('/', { json: {} })
    expect(await rows()).to.have.length(1)
    expect(subjects()).to.deep.equal(['ada@example.com: Hello Ada'])
    expect(await jobs.drain()).to.deep.equal({ finished: 1, failed: [] })
    expect(subjects()).to.deep.equal(['ada@example.com: Hello Ada'])
    // The locale when the mail was enqueued.
    expect(mails.last?.locale).to.equal('en-US')
  })

  it('are not sent when the request fails', async () => {
    await open()
    await site.post('/', { json: { status: 422 } })
    expect(await rows()).to.deep.equal([])
    expect(subjects()).to.deep.equal([])
  })

  it('are sent after the commit, and without a row, with queued: false', async () => {
    await open()
    await site.post('/', { json: { queued: false } })
    expect(await rows()).to.deep.equal([])
    expect(subjects()).to.deep.equal(['ada@example.com: Hello Ada'])
  })

  it('are sent by jobs', async () => {
    await open()
    behavior.perform = (_args, job) =>
      sendMail(job, { to: 'eve@example.com', name: 'welcome', locals: { name: 'Eve' } })
    await jobs.enqueue(database.manager, Anything, { text: '' })
    expect(await jobs.drain()).to.deep.equal({ finished: 2, failed: [] })
    expect(subjects()).to.deep.equal(['eve@example.com: Hello Eve'])
  })

  it('are sent by jobs with dates, and pages that jobs render have their layout', async () => {
    writeFileSync(join(folder, 'mails/when.pug'), 'p #{display(at)}\n')
    writeFileSync(
      join(folder, 'page.pug'),
      'extends /layout\nblock content\n  each message in flashMessages()\n    p= message.text\n  p= display(at)\n',
    )
    await open({}, false)
    const at = new Date('2026-02-28T23:30:00Z')
    let page = ''
    behavior.perform = (_args, job) => {
      page = job.renderToString('page', { at })
      job.timeZone = 'Europe/Berlin'
      sendMail(job, { to: 'eve@example.com', name: 'when', locals: { at } })
    }
    await jobs.enqueue(database.manager, Anything, { text: '' })
    expect(await jobs.drain()).to.deep.equal({ finished: 2, failed: [] })
    expect(page).to.contain('<!DOCTYPE html>').and.to.contain('Feb 28, 2026')
    expect(mails.last?.text).to.contain('Mar 1, 2026')
  })

  it('are dead when the mail server rejects them, and sent again later when it does not respond', async () => {
    const server = new SMTPServer({
      disabledCommands: ['AUTH', 'STARTTLS'],
      onRcptTo: (_address, _session, done) =>
        done(Object.assign(new Error('No such user'), { responseCode: 550 })),
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const closed = createServer()
    await once(closed.listen(0, '127.0.0.1'), 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    await open({ url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}` })
    await site.post('/', { json: {} })
    await jobs.drain({ rethrow: false })
    await site.close()
    await new Promise<void>((done) => server.close(() => done()))
    database = digestsDatabase(database.url)
    await open({ url: `smtp://127.0.0.1:${port}` })
    await site.post('/', { json: {} })
    await jobs.drain({ rethrow: false })
    expect(await database.query('SELECT state, attempts FROM jobs ORDER BY state')).to.deep.equal([
      { state: 'dead', attempts: 1 },
      { state: 'waiting', attempts: 1 },
    ])
  })
})
