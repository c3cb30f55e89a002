import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import type { Database } from '../../src/index.js'
import type { JobQueue } from '../../src/jobs/index.js'
import { captureLog, type CapturedLog } from '../../src/testing/index.js'
import {
  Anything,
  behavior,
  digests,
  digestsDatabase,
  digestsUrl,
  Effect,
  SendDigest,
} from '../support/applications/digests.js'
import { engine } from '../support/engine.js'
import { openProxy, type Proxy } from '../support/servers/proxy.js'
import { Site } from '../support/site.js'

/** Statements that return the number of a connection, and end it. */
const connections = {
  postgres: ['SELECT pg_backend_pid() AS id', 'SELECT pg_terminate_backend(?)'],
  mariadb: ['SELECT CONNECTION_ID() AS id', 'KILL ?'],
}

// SQLite has no connections that can be lost.
if (engine !== 'sqlite')
  describe('Jobs whose connection is lost', () => {
    let proxy: Proxy
    /** The database, without the proxy. */
    let database: Database
    let jobs: JobQueue
    let site: Site
    let log: CapturedLog

    beforeEach(async () => {
      const url = await digestsUrl()
      proxy = await openProxy(url)
      database = await digestsDatabase(url).open()
      log = captureLog()
      // A job waits for an hour after any other failure.
      const made = digests(digestsDatabase(proxy.url), { logger: log.logger, env: 'production' })
      jobs = made.jobs
      site = await Site.open(made.app)
    })

    afterEach(async () => {
      await site.close()
      await proxy.close()
      await database.close()
    })

    const texts = async () => (await database.manager.find(Effect)).map(({ text }) => text)
    const lines = () => log.lines.filter((line) => 'job' in line).map(({ msg }) => msg)

    async function untilFinished(): Promise<void> {
      while (!lines().includes('job finished')) await delay(10)
      expect(await database.query('SELECT * FROM jobs')).to.deep.equal([])
    }

    for (const when of ['before', 'after'] as const)
      it(`have their effect once, when it is cut ${when} the commit reaches the server`, async () => {
        const attempts: number[] = []
        behavior.perform = async (_args, job) => {
          attempts.push(job.attempt)
          await job.save(Object.assign(new Effect(), { text: `attempt ${job.attempt}` }))
          if (job.attempt === 1) proxy.cut('COMMIT', when)
        }
        await jobs.enqueue(database.manager, Anything, { text: 'a' })
        await untilFinished()
        // A commit whose response is lost is looked up, and not repeated.
        expect(attempts).to.deep.equal(when === 'before' ? [1, 2] : [1])
        expect(await texts()).to.deep.equal([`attempt ${attempts.length}`])
      })

    it('have their effect once, when the server ends it', async () => {
      const [find = '', end = ''] = connections[engine === 'postgres' ? 'postgres' : 'mariadb']
      behavior.perform = async (_args, job) => {
        await job.save(Object.assign(new Effect(), { text: `attempt ${job.attempt}` }))
        const [{ id }] = await job.tx.query(find)
        if (job.attempt === 1) await database.query(end.replace('?', String(id)))
      }
      await jobs.enqueue(database.manager, Anything, { text: 'a' })
      await untilFinished()
      expect(lines()).to.deep.equal(['job failed', 'job finished'])
      expect(await texts()).to.deep.equal(['attempt 2'])
    })

    it('run when the database is back, and the log has one line meanwhile', async () => {
      proxy.away(true)
      await jobs.enqueue(database.manager, SendDigest, { text: 'a' })
      await delay(2500)
      expect(lines()).to.deep.equal([])
      proxy.away(false)
      await untilFinished()
      expect(await texts()).to.deep.equal(['report a'])
      const warnings = log.lines.filter(({ msg }) => String(msg).includes('cannot use the database'))
      expect(warnings).to.have.length(1)
    })
  })
