import { expect } from 'chai'
import { chooseLocale } from '../../src/translations/locale-choice.js'

const known = ['en-US', 'de', 'fr-CA', 'fr', 'zh-Hant']

const choose = (...chosen: unknown[]) => chooseLocale(known, { chosen, accept: 'fr' }, 'en-US')

describe('chooseLocale(known, preferences, fallback)', () => {
  const headers: [accept: string, locale: string][] = [
    ['', 'en-US'],
    ['de', 'de'],
    ['DE-ch', 'de'],
    ['en-GB', 'en-US'],
    ['fr-CA', 'fr-CA'],
    ['fr-BE', 'fr'],
    ['zh-Hant-TW', 'zh-Hant'],
    ['zh-CN', 'zh-Hant'],
    ['it', 'en-US'],
    ['it, de', 'de'],
    ['de;q=0.5, fr;q=0.9', 'fr'],
    ['de ; q=0.5 , fr ; q=0.4', 'de'],
    ['de, fr', 'de'],
    ['fr;q=0.8, de;q=0.8', 'fr'],
    ['*', 'en-US'],
    ['it, *;q=0.5', 'en-US'],
    ['en;q=0, *', 'de'],
    ['de;q=0', 'en-US'],
    [`de${'-a'.repeat(5000)}, fr`, 'fr'],
    ['de;q=0, de', 'en-US'],
    ['fr-CA;q=0, fr', 'fr'],
    ['fr;q=0, fr-CA', 'fr-CA'],
    ['*;q=0, de;q=0.1', 'de'],
    ['*;q=0', 'en-US'],
    ['de;q=2', 'en-US'],
    ['de;q=x, fr;q=0.1', 'fr'],
    ['de;level=1, fr;q=0.1', 'fr'],
    [',,;,-,de--ch,' + 'x'.repeat(9), 'en-US'],
    ['../../etc/passwd', 'en-US'],
  ]
  for (const [accept, locale] of headers) {
    it(`returns ${locale} for Accept-Language ${JSON.stringify(accept)}`, () => {
      expect(chooseLocale(known, { chosen: [], accept }, 'en-US')).to.equal(locale)
    })
  }

  it('returns the first available locale of those chosen earlier', () => {
    expect(choose('de', 'zh-Hant')).to.equal('de')
    expect(choose('it', 'de-CH')).to.equal('de')
    expect(choose(undefined, 'de')).to.equal('de')
    expect(choose('', 1, null, {}, ['de'], 'x'.repeat(5000))).to.equal('fr')
  })

  it('returns the fallback, in its available form if there is one', () => {
    expect(chooseLocale(['de', 'en'], { chosen: [], accept: 'it' }, 'en-US')).to.equal('en')
    expect(chooseLocale(['de'], { chosen: [], accept: 'it' }, 'en-US')).to.equal('en-US')
    expect(chooseLocale([], { chosen: ['de'], accept: 'de' }, 'en-US')).to.equal('en-US')
    expect(chooseLocale(['de', 'fr'], { chosen: [], accept: '*' }, 'fr')).to.equal('fr')
  })
})
