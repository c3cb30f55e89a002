import { expect } from 'chai'
import { addMessage, readFlash, type Flash } from '../../src/sessions/flash.js'

function flashOf(...messages: string[]): Flash {
  return messages.reduce<Flash>((flash, message) => addMessage(flash, 'info', message), [])
}

describe('Flash messages', () => {
  it('keep their order', () => {
    const flash = addMessage(addMessage([], 'success', 'Saved.'), 'danger', 'But not sent.')
    expect(flash).to.deep.equal([
      { type: 'success', message: 'Saved.' },
      { type: 'danger', message: 'But not sent.' },
    ])
    expect(readFlash(JSON.parse(JSON.stringify(flash)))).to.deep.equal(flash)
  })

  it('are limited to the newest five, and to 500 characters each', () => {
    const numbers = flashOf('1', '2', '3', '4', '5', '6')
    expect(numbers.map(({ message }) => message)).to.deep.equal(['2', '3', '4', '5', '6'])
    const long = flashOf('x'.repeat(500), 'x'.repeat(501), `${'x'.repeat(498)}😀x`)
    expect(long.map(({ message }) => message)).to.deep.equal([
      'x'.repeat(500),
      `${'x'.repeat(499)}…`,
      `${'x'.repeat(498)}…`,
    ])
  })

  for (const kept of [
    'text',
    1,
    null,
    undefined,
    {},
    [null, 1, {}, { type: 'x' }, { type: 1, message: 'y' }],
  ]) {
    it(`are empty for the content ${JSON.stringify(kept)}`, () => {
      expect(readFlash(kept)).to.deep.equal([])
    })
  }
})
