import { expect } from 'chai'
import { display, time } from '../../src/views/display.js'
import { viewContext } from '../support/view-context.js'

class Author {
  id = 'a1'
}

const context = viewContext()
const moment = new Date('2026-05-01T22:05:00Z')

/** Intl writes a narrow space before AM and PM. */
const plain = (html: unknown) => String(html).replaceAll(/\s/g, ' ')

describe('time', () => {
  it('shows a datetime in UTC', () => {
    expect(plain(time(context, moment))).to.equal(
      '<time datetime="2026-05-01T22:05:00.000Z">May 1, 2026, 10:05 PM UTC</time>',
    )
  })

  it("uses the format of the page's language", () => {
    expect(plain(time(viewContext({ locale: 'de' }), moment))).to.contain('>01.05.2026, 22:05 UTC<')
  })

  it('shows a date without a time', () => {
    expect(plain(time(context, '2026-05-01'))).to.equal('<time datetime="2026-05-01">May 1, 2026</time>')
  })

  it('shows nothing for null, and escapes an invalid date', () => {
    expect(String(time(context, null))).to.equal('')
    expect(String(time(context, '<b>'))).to.equal('&lt;b&gt;')
  })
})

describe('display', () => {
  const rows: Array<[name: string, value: unknown, shown: string]> = [
    ['text, escaped', '<b>', '&lt;b&gt;'],
    ['a number', 0, '0'],
    ['true', true, 'Yes'],
    ['false', false, 'No'],
    ['null', null, ''],
    ['undefined', undefined, ''],
    ['a record, by its title', Object.assign(new Author(), { title: '<b>', name: 'Ada' }), '&lt;b&gt;'],
    ['a record, by its name', Object.assign(new Author(), { name: 'Ada' }), 'Ada'],
    ['a record, by its id', new Author(), 'a1'],
    ['JSON with an id', { id: 'a1' }, '<code>{ &quot;id&quot;: &quot;a1&quot; }</code>'],
    ['JSON, escaped', { a: '<' }, '<code>{ &quot;a&quot;: &quot;&lt;&quot; }</code>'],
    ['a moment', moment, '<time datetime="2026-05-01T22:05:00.000Z">May 1, 2026, 10:05 PM UTC</time>'],
  ]
  for (const [name, value, shown] of rows) {
    it(`shows ${name}`, () => {
      expect(plain(display(context, value)).replaceAll(/ +/g, ' ')).to.equal(shown)
    })
  }
})
