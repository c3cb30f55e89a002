import { expect } from 'chai'
import { StalledConnections } from '../../src/server/stalled-connections.js'

/** A socket with this number of written bytes, of which the system has not accepted all. */
function socket(bytesWritten: number, writableLength: number, writeQueueSize = writableLength) {
  const one = { bytesWritten, writableLength, _handle: { writeQueueSize }, isOpen: true, destroy }
  function destroy() {
    one.isOpen = false
    return one as never
  }
  return one
}

describe('new StalledConnections(sendTimeout).close(connections, now)', () => {
  it('closes a connection that has sent nothing for sendTimeout, and not earlier', () => {
    const [stalled, one] = [new StalledConnections(60_000), socket(5000, 3000)]
    for (const now of [1000, 31_000, 60_999]) stalled.close([one], now)
    expect(one.isOpen).to.equal(true)
    stalled.close([one], 61_000)
    expect(one.isOpen).to.equal(false)
  })

  it('restarts the time at the last byte sent, also within one write', () => {
    const [stalled, one] = [new StalledConnections(60_000), socket(5000, 3000)]
    stalled.close([one], 0)
    one._handle.writeQueueSize = 2999
    stalled.close([one], 59_000)
    stalled.close([one], 118_999)
    one.writableLength = 2000
    stalled.close([one], 119_000)
    stalled.close([one], 178_999)
    expect(one.isOpen).to.equal(true)
    stalled.close([one], 179_000)
    expect(one.isOpen).to.equal(false)
  })

  it('does not count further writes of the handler as progress', () => {
    const [stalled, one] = [new StalledConnections(60_000), socket(5000, 3000)]
    stalled.close([one], 0)
    Object.assign(one, { bytesWritten: 6000, writableLength: 4000 })
    stalled.close([one], 60_000)
    expect(one.isOpen).to.equal(false)
  })

  it('does not limit the time of a handler while there is nothing to send', () => {
    const [stalled, one] = [new StalledConnections(60_000), socket(5000, 3000)]
    stalled.close([one], 0)
    one.writableLength = 0
    for (const now of [60_000, 600_000]) stalled.close([one], now)
    Object.assign(one, { bytesWritten: 8000, writableLength: 3000 })
    for (const now of [600_001, 660_000]) stalled.close([one], now)
    expect(one.isOpen).to.equal(true)
  })
})
