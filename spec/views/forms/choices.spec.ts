import { expect } from 'chai'
import { sortByLabel } from '../../../src/index.js'

describe('sortByLabel(records, locale)', () => {
  const labels = (records: Array<{ title?: unknown; name?: unknown; id: string }>, locale?: string) =>
    sortByLabel(records, locale).map(({ id, title, name }) => title ?? name ?? id)

  it('sorts by title or name, ignoring case, with numbers by their value', () => {
    const titles = ['Part 10', 'part 1', 'Part 2', 'émile', 'Zoe', 'eva'].map((title) => ({ id: 'x', title }))
    expect(labels([...titles, { id: 'x', name: 'Mia' }])).to.deep.equal([
      'émile',
      'eva',
      'Mia',
      'part 1',
      'Part 2',
      'Part 10',
      'Zoe',
    ])
  })

  it('sorts in the order of the language', () => {
    const names = ['z', 'ä', 'a'].map((name) => ({ id: 'x', name }))
    expect(labels(names, 'de')).to.deep.equal(['a', 'ä', 'z'])
    expect(labels(names, 'sv')).to.deep.equal(['a', 'z', 'ä'])
    expect(labels(names, 'no such locale')).to.deep.equal(['a', 'ä', 'z'])
  })

  it('keeps the order of equal labels and of ids, and does not change the list itself', () => {
    const records = [{ id: '3' }, { id: '1', name: null }, { id: '2' }]
    expect(labels(records)).to.deep.equal(['3', '1', '2'])
    const twins = [
      { id: '2', name: 'Ada' },
      { id: '1', name: 'Ada' },
      { id: '3', name: 'Abe' },
    ]
    expect(sortByLabel(twins).map(({ id }) => id)).to.deep.equal(['3', '2', '1'])
    expect(twins.map(({ id }) => id)).to.deep.equal(['2', '1', '3'])
  })
})
