import { expect } from 'chai'
import type { Database } from '../../src/index.js'
import { Job, jobQueue, Schedule, type JobContext } from '../../src/jobs/index.js'
import { declareSchedule, schedulesOf, Ticks } from '../../src/jobs/schedules.js'
import { JobStore } from '../../src/jobs/store.js'
import { definitionOf } from '../../src/jobs/job.js'
import { digestsDatabase, digestsUrl } from '../support/applications/digests.js'
import { itOnce } from '../support/engine.js'

@Job()
@Schedule('0 * * * *', { arguments: { days: 3 } })
@Schedule('30 2 * * *', { name: 'night', timeZone: 'Europe/Berlin' })
class CleanUp {
  perform(_args: { days?: number }, _job: JobContext) {}
}

const at = (time: string) => Date.parse(time)
const iso = (time: number | undefined) => new Date(time ?? 0).toISOString()

describe('Schedules', () => {
  let database: Database

  beforeEach(async () => {
    database = await digestsDatabase(await digestsUrl()).open()
  })

  afterEach(() => database.close())

  const ticks = () =>
    new Ticks(
      new JobStore(database, {}),
      schedulesOf([definitionOf(CleanUp)]).filter(({ name }) => name === 'clean_up'),
    )
  const jobs = () => jobQueue(database, { jobs: [CleanUp] }).waiting(CleanUp)

  it('begin with their next tick, and enqueue one job for it, with its arguments', async () => {
    const one = ticks()
    expect(iso(await one.fire(at('2026-01-01T10:30:00Z')))).to.equal('2026-01-01T11:00:00.000Z')
    expect(await jobs()).to.deep.equal([])
    await one.fire(at('2026-01-01T11:00:00Z'))
    expect(await jobs()).to.deep.equal([{ days: 3 }])
  })

  it('enqueue one job for a tick, in several processes', async () => {
    const processes = [ticks(), ticks(), ticks()]
    for (const one of processes) await one.fire(at('2026-01-01T10:30:00Z'))
    await Promise.all(processes.map((one) => one.fire(at('2026-01-01T11:00:00Z'))))
    expect(await jobs()).to.have.length(1)
    await database.query('DELETE FROM jobs')
    await Promise.all(processes.map((one) => one.fire(at('2026-01-01T11:59:59Z'))))
    // A process that starts later finds the tick done.
    await ticks().fire(at('2026-01-01T11:30:00Z'))
    expect(await jobs()).to.have.length(0)
  })

  it('make up for missed ticks by one job, and enqueue none while an earlier one has not started', async () => {
    await ticks().fire(at('2026-01-01T10:30:00Z'))
    const later = ticks()
    await later.fire(at('2026-01-03T10:30:00Z'))
    expect(await jobs()).to.have.length(1)
    await later.fire(at('2026-01-03T11:00:00Z'))
    expect(await jobs()).to.have.length(1)
  })

  itOnce('run in the hour that is skipped when the gap ends, and once in the repeated hour', () => {
    const night = declareSchedule('CleanUp', '30 2 * * *', { timeZone: 'Europe/Berlin' })
    expect(iso(night.next(at('2026-03-28T12:00:00Z')))).to.equal('2026-03-29T01:00:00.000Z')
    expect(iso(night.last(at('2026-03-29T12:00:00Z')))).to.equal('2026-03-29T01:00:00.000Z')
    const autumn = night.next(at('2026-10-24T12:00:00Z')) ?? 0
    expect(iso(autumn)).to.equal('2026-10-25T00:30:00.000Z')
    expect(iso(night.next(autumn))).to.equal('2026-10-26T01:30:00.000Z')
  })

  itOnce('return the last tick up to a time, which can be the time itself', () => {
    const { last } = declareSchedule('CleanUp', '*/10 * * * * *', {})
    expect(iso(last(at('2026-01-01T00:00:10Z')))).to.equal('2026-01-01T00:00:10.000Z')
    expect(iso(last(at('2026-01-01T00:00:19.999Z')))).to.equal('2026-01-01T00:00:10.000Z')
  })
})
