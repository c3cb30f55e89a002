import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { digestsUrl } from '../support/applications/digests.js'
import { engine } from '../support/engine.js'

const secret = 'k3y-of-7777-doors'

interface Span {
  name: string
  kind: number
  attributes: Record<string, unknown>
  events: { name: string; attributes: Record<string, unknown> }[]
  status: number
  parent?: string
  id: string
  trace: string
}

describe('telemetry() and jobs', () => {
  let spans: Span[]
  let lines: Record<string, unknown>[]
  let output: string

  before(async () => {
    const main = fileURLToPath(new URL('../support/processes/traced-job-main.js', import.meta.url))
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--enable-source-maps', main, await digestsUrl(), secret],
      { encoding: 'utf8', maxBuffer: 10_000_000 },
    )
    output = stdout
    ;({ spans, lines } = JSON.parse(stdout))
  })

  const runs = () => spans.filter(({ name }) => name === 'job Anything')

  it('gives each run its own trace, with the id of the request that enqueued it', () => {
    expect(runs().map(({ kind, parent, status }) => ({ kind, parent, status }))).to.deep.equal([
      { kind: 4, parent: undefined, status: 2 },
      { kind: 4, parent: undefined, status: 0 },
    ])
    expect(new Set(runs().map(({ trace }) => trace)).size).to.equal(2)
    for (const { attributes } of runs())
      expect(attributes).to.deep.equal({ 'resource_kit.request_id': 'the-request' })
  })

  it('has the transaction of a run below its span, and on SQLite its statements', () => {
    const below = spans.filter(({ parent }) => parent === runs()[1]?.id).map(({ name }) => name)
    const statements = engine === 'sqlite' ? [...Array.from({ length: 7 }, () => 'SELECT'), 'DELETE'] : []
    expect(below).to.deep.equal([...statements, 'transaction'])
  })

  it('adds the ids of the span, and in development the queries, to the lines of the job', () => {
    const [, run] = runs()
    const own = lines.filter((line) => line['trace_id'] === run?.trace).map(({ msg }) => msg)
    expect(own).to.include('counting').and.to.include('job finished')
    expect(lines.find(({ msg }) => msg === 'job finished')).to.include({ queries: 8, attempt: 2 })
  })

  it('warns about equal queries of a job in a loop, in development', () => {
    const warning = lines.find(({ count }) => count === 7)
    expect(warning?.['place']).to.match(/traced-job-main\.ts:\d+$/)
    expect(warning?.['msg']).to.match(/^7 times in the job Anything, at /)
  })

  it('shows no arguments and no values', () => {
    expect(JSON.stringify(spans)).to.not.contain(secret)
    // The statement of the application's own code is in the log, as it is for a request.
    expect(output.replaceAll(`${secret} of SQL`, '')).to.not.contain(secret)
  })
})
