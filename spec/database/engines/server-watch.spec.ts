import { Socket } from 'node:net'
import { expect } from 'chai'
import { ServerWatch } from '../../../src/database/engines/server-watch.js'

const minute = 60_000
const readOnly = new Error('read-only')

/** A watch with a clock that the spec sets. */
function newWatch(): { watch: ServerWatch; clock: { now: number } } {
  const clock = { now: 1000 }
  const options = { type: 'postgres' } as const
  return {
    watch: new ServerWatch(
      { options },
      '',
      (error) => error === readOnly,
      () => clock.now,
    ),
    clock,
  }
}

describe('A connection to a database', () => {
  it('is over after 12 to 15 minutes, each at another time', () => {
    const { watch, clock } = newWatch()
    const connections = Array.from({ length: 100 }, () => watch.add(new Socket()))
    const countOver = (): number => connections.filter(({ isOver }) => isOver).length
    clock.now += 12 * minute - 1
    expect(countOver()).to.equal(0)
    clock.now += 1.5 * minute
    expect(countOver()).to.be.within(1, 99)
    clock.now += 1.5 * minute + 1
    expect(countOver()).to.equal(100)
  })

  it('is over when another one of its pool reports that the server only reads, and a later one is not', () => {
    const { watch, clock } = newWatch()
    const [first, second] = [watch.add(new Socket()), watch.add(new Socket())]
    second.sent()
    second.answered(new Error('a failure of the statement'))
    expect(first.isOver).to.equal(false)
    second.sent()
    second.answered(readOnly)
    clock.now += 1
    expect([first.isOver, second.isOver, watch.add(new Socket()).isOver]).to.deep.equal([true, true, false])
  })

  it('is not over because its own transaction only reads', () => {
    const { watch } = newWatch()
    const connection = watch.add(new Socket())
    connection.isReadOnly = true
    connection.sent()
    connection.answered(readOnly)
    expect(connection.isOver).to.equal(false)
  })
})
