import { expect } from 'chai'
import { App } from '../../../src/index.js'
import { TransactionConflict } from '../../../src/errors.js'
import { retrying } from '../../../src/middleware/transaction/retrying.js'
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
    app.put('/', (ctx) => retrying(ctx, { retries: 5 }, conflict, false, () => now))
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
