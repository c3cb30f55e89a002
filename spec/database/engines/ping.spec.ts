import { expect } from 'chai'
import { pingBy } from '../../../src/database/engines/connections.js'
import { failure } from '../../support/failure.js'

type PingConnection = Awaited<ReturnType<Parameters<typeof pingBy>[0]>>

/** A connection, and the calls that it has received. */
function connection(query: () => unknown): { calls: string[]; connect: () => Promise<PingConnection> } {
  const calls: string[] = []
  const one: PingConnection = {
    query: (sql) => [calls.push(sql), query()][1],
    release: (error) => void calls.push(error ? 'destroy' : 'release'),
  }
  return { calls, connect: () => Promise.resolve(one) }
}

const never = () => new Promise(() => {})

describe('pingBy(connect)', () => {
  it('sends a query, and returns the connection', async () => {
    const { calls, connect } = connection(() => 1)
    await pingBy(connect)(new AbortController().signal)
    expect(calls).to.deep.equal(['SELECT 1', 'release'])
  })

  it('rejects with the error of the query, and closes the connection', async () => {
    const { calls, connect } = connection(() => Promise.reject(new Error('lost')))
    expect(String(await failure(pingBy(connect)(new AbortController().signal)))).to.contain('lost')
    expect(calls).to.deep.equal(['SELECT 1', 'destroy'])
  })

  it('closes a connection whose query gets no response before the signal', async () => {
    const { calls, connect } = connection(never)
    const end = new AbortController()
    const ping = failure(pingBy(connect)(end.signal))
    await new Promise(setImmediate)
    end.abort(new Error('too late'))
    expect(String(await ping)).to.contain('too late')
    expect(calls).to.deep.equal(['SELECT 1', 'destroy'])
  })

  it('rejects while it waits for a connection, and closes one that opens after the signal', async () => {
    const { calls, connect } = connection(never)
    let open = (): void => {}
    const opened = new Promise<void>((resolve) => (open = resolve))
    const end = new AbortController()
    const ping = failure(pingBy(() => opened.then(connect))(end.signal))
    end.abort(new Error('too late'))
    expect(String(await ping)).to.contain('too late')
    open()
    await new Promise(setImmediate)
    expect(calls).to.deep.equal(['destroy'])
  })
})
