import { expect } from 'chai'
import { interpolate, joinChoices } from '../../src/translations/interpolation.js'

describe('interpolate(text, values, locale)', () => {
  const rows: [text: string, values: Record<string, unknown>, locale: string, result: string][] = [
    ['{{a}} and {{ b }}', { a: 1, b: '$&' }, 'en-US', '1 and $&'],
    ['{{a}}', { a: '{{b}}', b: 2 }, 'en-US', '{{b}}'],
    [
      '{{missing}} {{toString}} {{undefined}}',
      { undefined },
      'en-US',
      '{{missing}} {{toString}} {{undefined}}',
    ],
    ['[{{a}}]', { a: null }, 'en-US', '[]'],
    ['{{names}}', { names: ['Anna', 'Ben', 'Cleo'] }, 'en-US', 'Anna, Ben, and Cleo'],
    ['{{names}}', { names: ['Anna', 'Ben', 'Cleo'] }, 'de', 'Anna, Ben und Cleo'],
    ['{{names}}', { names: ['Anna', 'Ben'] }, 'fr', 'Anna et Ben'],
    ['{{names}}', { names: [] }, 'fr', ''],
    ['{{day}}', { day: new Date('2026-05-31T00:00:00Z') }, 'de', '31.05.2026'],
    ['{{moment}}', { moment: new Date('2026-05-31T14:30:00Z') }, 'de', '31.05.2026, 14:30 UTC'],
    ['{{never}}', { never: new Date(NaN) }, 'de', 'Invalid Date'],
  ]
  for (const [text, values, locale, result] of rows) {
    it(`returns ${JSON.stringify(result)} for ${JSON.stringify(text)} in ${locale}`, () => {
      expect(interpolate(text, values, locale)).to.equal(result)
    })
  }
})

describe('withChoices(values, locale)', () => {
  it('joins lists with "or" in the language', () => {
    const values = { values: ['draft', 'public', 'gone'], attribute: 'State' }
    expect(joinChoices(values, 'en-US')).to.deep.equal({
      values: 'draft, public, or gone',
      attribute: 'State',
    })
    expect(joinChoices(values, 'es')).to.deep.equal({ values: 'draft, public o gone', attribute: 'State' })
  })
})
