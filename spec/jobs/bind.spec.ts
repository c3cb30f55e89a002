import { expect } from 'chai'
import type { Database } from '../../src/index.js'
import type { JobQueue } from '../../src/jobs/index.js'
import {
  Anything,
  behavior,
  digests,
  digestsDatabase,
  digestsUrl,
  Effect,
} from '../support/applications/digests.js'
import { Site } from '../support/site.js'

describe('job.bind(record, { from })', () => {
  let database: Database
  let jobs: JobQueue
  let site: Site

  beforeEach(async () => {
    database = await digestsDatabase(await digestsUrl()).open()
    const made = digests(database)
    jobs = made.jobs
    site = await Site.open(made.app)
  })
  afterEach(async () => {
    await site.close()
    await database.close()
  })

  it('copies the attributes of a message to a record', async () => {
    const results: unknown[] = []
    behavior.perform = async (_args, job) => {
      const effect = job.bind(new Effect(), { from: { text: 'bound', id: 'x' }, fields: ['text'] })
      results.push(await job.save(effect), effect.text, effect.id === 'x')
      const wrong = job.bind(new Effect(), { from: { text: { a: 1 } }, fields: ['text'] })
      results.push((await job.save(wrong))?.codes)
    }
    await jobs.enqueue(database.manager, Anything, { text: 'a' })
    await jobs.drain()
    expect(results).to.deep.equal([undefined, 'bound', false, { text: ['type.text'] }])
  })
})
