import { expect } from 'chai'
import { App } from '../../../src/index.js'
import { TransactionConflict } from '../../../src/errors.js'
import { ReplicaFailed } from '../../../src/database/replicas/request-server.js'
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
  /** The runs of a request whose first one fails, with the server of each, and the status of its response. */
  async function runs(
    method: 'get' | 'post' | 'put',
    options: RetryingOptions,
  ): Promise<(string | number)[]> {
    const servers: string[] = []
    const app = new App({ api: true, logger: captureLog().logger })
    app[method]('/', (ctx) =>
      retrying(ctx, options, async ({ needsPrimary }) => {
        servers.push(needsPrimary ? 'primary' : 'replica')
        if (!needsPrimary) throw new ReplicaFailed()
        ctx.status = 204
      }),
    )
    const site = await Site.open(app)
    const { status } = await site[method]('/')
    await site.close()
    return [...servers, status]
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
