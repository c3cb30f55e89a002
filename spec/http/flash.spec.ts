import { expect } from 'chai'
import { addFlash, takeFlash } from '../../src/http/flash.js'

describe('flash messages', () => {
  it('are kept in the session in their order, and gone once taken', () => {
    const session: Record<string, unknown> = { other: 1 }
    addFlash(session, 'success', 'Saved.')
    addFlash(session, 'danger', 'But not sent.')
    expect(takeFlash(session)).to.deep.equal([
      { type: 'success', message: 'Saved.' },
      { type: 'danger', message: 'But not sent.' },
    ])
    expect(session).to.deep.equal({ other: 1 })
    expect(takeFlash(session)).to.deep.equal([])
  })

  it('are the newest five, each of 500 characters at most', () => {
    const session: Record<string, unknown> = {}
    for (let number = 1; number <= 6; number++) addFlash(session, 'info', String(number))
    expect(takeFlash(session).map(({ message }) => message)).to.deep.equal(['2', '3', '4', '5', '6'])
    for (const text of ['x'.repeat(500), 'x'.repeat(501), `${'x'.repeat(498)}😀x`])
      addFlash(session, 'info', text)
    expect(takeFlash(session).map(({ message }) => message)).to.deep.equal([
      'x'.repeat(500),
      `${'x'.repeat(499)}…`,
      `${'x'.repeat(498)}…`,
    ])
  })

  it('leave a session alone that has none', () => {
    const session = Object.freeze({})
    expect(takeFlash(session)).to.deep.equal([])
  })

  for (const flash of ['text', 1, null, {}, [null, 1, {}, { type: 'x' }, { type: 1, message: 'y' }]]) {
    it(`are none where the session holds ${JSON.stringify(flash)}`, () => {
      const session: Record<string, unknown> = { flash }
      expect(takeFlash(session)).to.deep.equal([])
      addFlash(session, 'success', 'Saved.')
      expect(takeFlash(session)).to.deep.equal([{ type: 'success', message: 'Saved.' }])
    })
  }
})
