import { expect } from 'chai'
import { dayFormat, directionOf, memoizeByLocale } from '../../src/translations/formatters.js'

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

describe('directionOf(locale)', () => {
  it('is rtl for languages that are written from right to left', () => {
    const locales = ['ar', 'ar-EG', 'he', 'fa-IR', 'ur', 'yi', 'uz-Arab', 'uz', 'de', 'en-US', 'xx_YY']
    const found = locales.filter((locale) => directionOf(locale) === 'rtl')
    expect(found).to.deep.equal(['ar', 'ar-EG', 'he', 'fa-IR', 'ur', 'yi', 'uz-Arab'])
  })
})
