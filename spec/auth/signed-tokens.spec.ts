import { expect } from 'chai'
import { readToken, signedToken } from '../../src/auth/index.js'

describe('signedToken and readToken', () => {
  it('read the value of a token', async () => {
    const token = signedToken('reset', 'user 1', { expires: '20 minutes', stamp: 'a' })
    expect(await readToken('reset', token, { stamp: 'a' })).to.equal('user 1')
    expect(
      await readToken('reset', token, { stamp: async (value) => (value === 'user 1' ? 'a' : 'b') }),
    ).to.equal('user 1')
  })

  it('reject a token of another purpose, with another stamp, or of another secret', async () => {
    const token = signedToken('reset', '1', { expires: '1 hour', stamp: 'a' })
    expect(await readToken('confirm', token, { stamp: 'a' })).to.equal(undefined)
    expect(await readToken('reset', token, { stamp: 'b' })).to.equal(undefined)
    expect(await readToken('reset', token)).to.equal(undefined)
    expect(await readToken('reset', token, { stamp: () => undefined })).to.equal(undefined)
    expect(await readToken('reset', token, { stamp: 'a', secret: 'x'.repeat(40) })).to.equal(undefined)
    const unstamped = signedToken('reset', '1', { expires: '1 hour' })
    expect(await readToken('reset', unstamped, { stamp: () => undefined })).to.equal(undefined)
    expect(await readToken('reset', unstamped, { stamp: 'a' })).to.equal(undefined)
  })

  it('find no stamp for the value of a forged token', async () => {
    const values: string[] = []
    const stamp = (value: string) => String(values.push(value))
    const forged = Buffer.from(JSON.stringify({ value: '2', expires: 9e15, mark: 'x' })).toString('base64url')
    const other = signedToken('reset', '1', { expires: '1 hour', secret: 'x'.repeat(40) })
    for (const token of [`${forged}.x`, other])
      expect(await readToken('reset', token, { stamp })).to.equal(undefined)
    expect(values).to.deep.equal([])
  })

  it('do not reveal the stamp', () => {
    const token = signedToken('reset', '1', { expires: '1 hour', stamp: 'secret stamp' })
    expect(Buffer.from(token, 'base64url').toString()).to.not.include('secret stamp')
    expect(token).to.not.include(Buffer.from('"secret stamp"').toString('base64url'))
  })

  it('reject a token that has expired', async () => {
    const token = signedToken('reset', '1', { expires: 1 })
    const until = Date.now() + 2
    while (Date.now() < until) await new Promise(setImmediate)
    expect(await readToken('reset', token)).to.equal(undefined)
  })

  it('reject everything else without an error', async () => {
    const token = signedToken('reset', '1', { expires: '1 day' })
    const [content = '', signature = ''] = token.split('.')
    const forged = Buffer.from(JSON.stringify({ value: '2', expires: 9e15 })).toString('base64url')
    for (const text of [
      undefined,
      5,
      '',
      '.',
      'null',
      'bnVsbA.x',
      content,
      `${forged}.${signature}`,
      `${token}.x`,
    ])
      expect(await readToken('reset', text), String(text)).to.equal(undefined)
  })

  it('reject a malformed duration', () => {
    expect(() => signedToken('reset', '1', { expires: '5 parsecs' as '5 days' })).to.throw(
      'A duration is "5 parsecs". Use milliseconds, or a text like "15 minutes" (seconds, minutes, hours or days), up to 36500 days.',
    )
  })
})
