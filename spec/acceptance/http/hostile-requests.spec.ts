import { expect } from 'chai'
import { openShop } from '../../support/applications/hostile-shop.js'
import { engine } from '../../support/engine.js'
import { assault, databaseCuts } from '../../support/fuzz/assault.js'

/** The number of requests: a few on SQLite with `npm test`, more and on each engine with `.ci/run`. `npm run soak:hostile` sends 10,000. */
const requests = (engine === 'sqlite' ? 200 : 100) * (process.env['KIT_FUZZ'] ? 2 : 1)
/** The seed of a failed run, which is printed with the failure. */
const seed = process.env['KIT_FUZZ_SEED'] ? Number(process.env['KIT_FUZZ_SEED']) : Date.now() % 2 ** 31

describe(`${requests} hostile requests on connections that are cut (KIT_FUZZ_SEED=${seed})`, () => {
  it('end neither the process of kit start nor a response with an error, and take no connection or slot away', async function () {
    // The application alone takes half a minute there.
    if (engine !== 'sqlite' && !process.env['KIT_FUZZ']) this.skip()
    const shop = await openShop(databaseCuts(seed))
    try {
      const { flaws } = await assault(shop, { requests, seed })
      expect(flaws, engine).to.deep.equal([])
    } finally {
      await shop.close()
    }
  })
})
