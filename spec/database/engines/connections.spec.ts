import { expect } from 'chai'
import { whileSilent } from '../../../src/database/engines/connections.js'
import { answerTimeout } from '../../../src/database/engines/server-watch.js'

describe('whileSilent', () => {
  const { now } = performance
  let time = 0

  before(() => {
    performance.now = () => time
  })

  after(() => {
    performance.now = now
  })

  for (const [kind, duration, attempts] of [
    [
      'tries again after a timeout of the driver, which Node may end a millisecond early',
      answerTimeout - 1.4,
      3,
    ],
    ['does not try again after an answer', answerTimeout / 2, 1],
    ['does not try again when no time is left for an answer', 2 * answerTimeout + 1, 1],
  ] as const) {
    it(kind, async () => {
      let count = 0
      const connect = async (): Promise<string> => {
        count += 1
        time += duration
        if (count < 3) throw new Error('No connection')
        return 'connected'
      }
      const result = await whileSilent(3 * answerTimeout, connect).catch(({ message }: Error) => message)
      expect(result).to.equal(attempts === 3 ? 'connected' : 'No connection')
      expect(count).to.equal(attempts)
    })
  }
})
