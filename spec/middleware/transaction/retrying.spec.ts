import { expect } from 'chai'
import { App } from '../../../src/index.js'
import { TransactionConflict } from '../../../src/errors.js'
import type { QueryRunner } from 'typeorm'
import type { Servers } from '../../../src/database/replicas/servers.js'
import { serverChoices } from '../../../src/database/replicas/server-choice.js'
import { retrying, type RetryingOptions } from '../../../src/middleware/transaction/retrying.js'
import { captureLog } from '../../../src/testing/index.js'
import { Site } from '../../support/site.js'

describe('A request with a conflict', () => {
  /** The number of attempts, if each attempt takes this long. */
  async function tries(milliseconds: number): Promise<{ count: number; status: number }> {
    let [count, now] = [0, 0]
    const app = new App({ api: true, logger: captureLog().logger })
    const conflict = async () => {
      count += 1
      now += milliseconds
      throw new TransactionConflict()
    }
    app.put('/', (ctx) => retrying(ctx, { retries: 5 }, conflict, () => now))
    const site = await Site.open(app)
    const { status } = await site.put('/')
    await site.close()
    return { count, status }
  }

  it('is retried `retries` times if it is fast', async () => {
    expect(await tries(0)).to.deep.equal({ count: 6, status: 503 })
  })

  it('is not retried if a retry as long as the longest attempt would end after 10 seconds', async () => {
    expect(await tries(3000)).to.deep.equal({ count: 3, status: 503 })
    expect(await tries(6000)).to.deep.equal({ count: 1, status: 503 })
    expect(await tries(10_000)).to.deep.equal({ count: 1, status: 503 })
  })
})

describe('A request whose replica fails', () => {
  const servers: Servers = {
    hasReplica: true,
    choose: async (_primary, { allowsReplica }) =>
      allowsReplica
        ? { name: 'replica', isAhead: false, createRunner: () => ({}) as QueryRunner }
        : { name: 'primary', isAhead: false },
    commit: async () => undefined,
    position: async () => 0n,
    stop: async () => {},
  }
  const choiceFor = serverChoices(servers, 5000, {
    visitorOf: () => 'ada',
    secretsOf: () => ['a secret of thirty-two characters'],
    addLogFields: () => {},
  })

  /** The runs of a request whose first one fails, with the server of each, and the status of its response. */
  async function runs(
    method: 'get' | 'post' | 'put',
    options: RetryingOptions,
  ): Promise<(string | number)[]> {
    const used: string[] = []
    const app = new App({ api: true, logger: captureLog().logger })
    app[method]('/', (ctx) => {
      const choice = choiceFor(ctx)
      const work = async (): Promise<void> => {
        const server = await choice.open({} as QueryRunner, { readOnly: true })
        used.push(server.isReplica ? 'replica' : 'primary')
        if (server.isReplica) server.note(new Error('The connection is lost.'))
        choice.rejectFailure()
        ctx.status = 204
      }
      return retrying(ctx, options, ({ reset }) => choice.run(work, reset))
    })
    const site = await Site.open(app)
    const { status } = await site[method]('/')
    await site.close()
    return [...used, status]
  }

  it('runs again on the primary if its method is idempotent, whatever the number of retries', async () => {
    expect(await runs('get', { retries: 0 })).to.deep.equal(['replica', 'primary', 204])
    expect(await runs('put', {})).to.deep.equal(['replica', 'primary', 204])
  })

  it('runs once if it may not run again', async () => {
    expect(await runs('post', {})).to.deep.equal(['replica', 503])
    expect(await runs('get', { isRetryable: () => false })).to.deep.equal(['replica', 503])
    expect(await runs('post', { isRetryable: () => true })).to.deep.equal(['replica', 'primary', 204])
  })
})
