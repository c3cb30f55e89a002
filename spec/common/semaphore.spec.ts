import { expect } from 'chai'
import { Semaphore } from '../../src/common/semaphore.js'
import { Gate } from '../support/gate.js'

const tooMany = () => new Error('Too many.')

describe('Semaphore', () => {
  it('runs two tasks at a time with two permits, lets others wait, and rejects further ones', async () => {
    const semaphore = new Semaphore(2, Infinity, tooMany, 3)
    const gate = new Gate()
    let running = 0
    let most = 0
    const task = async () => {
      most = Math.max(most, ++running)
      await gate.wait()
      running -= 1
    }
    const accepted = Array.from({ length: 5 }, () => semaphore.run(task))
    const rejected = await semaphore.run(task).catch((error: unknown) => error)
    expect(rejected).to.have.property('message', 'Too many.')
    expect(semaphore.isIdle).to.equal(false)
    gate.pass()
    await Promise.all(accepted)
    expect([most, running, semaphore.isIdle]).to.deep.equal([2, 0, true])
  })

  it('goes on after a task has failed', async () => {
    const semaphore = new Semaphore(1, Infinity, tooMany, 1)
    const failing = semaphore.run(() => Promise.reject(new Error('failed')))
    const next = semaphore.run(async () => 'done')
    expect(await failing.catch((error: Error) => error.message)).to.equal('failed')
    expect(await next).to.equal('done')
  })
})
