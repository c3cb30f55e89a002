import { expect } from 'chai'
import { dayFormat, memoizeByLocale } from '../../src/translations/formatters.js'

describe('memoizedByLocale(make)', () => {
  it('creates a formatter once', () => {
    expect(dayFormat('de')).to.equal(dayFormat('de')).and.not.to.equal(dayFormat('fr'))
  })

  it('creates the default one for an invalid locale', () => {
    for (const locale of ['xx_YY', 'a"b', '']) expect(dayFormat(locale).format(0)).to.equal('Jan 1, 1970')
  })

  it('keeps at most a hundred', () => {
    let made = 0
    const count = memoizeByLocale(() => ++made)
    const first = count('de-x-0')
    for (let index = 1; index < 100; index++) count(`de-x-${index}`)
    expect(count('de-x-0')).to.equal(first)
    count('de-x-100')
    expect(count('de-x-0')).not.to.equal(first)
  })
})
