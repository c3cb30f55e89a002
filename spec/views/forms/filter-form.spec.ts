import { expect } from 'chai'
import { Column, Entity } from 'typeorm'
import { definitionOf } from '../../../src/records/lists/definition/compile.js'
import { ListQuery } from '../../../src/records/lists/query/list-query.js'
import { QueryParser } from '../../../src/records/lists/query/parse.js'
import { Database, Model } from '../../../src/index.js'
import { filterForm } from '../../../src/views/forms/filter-form.js'
import { viewContext } from '../../support/view-context.js'

@Entity()
class Price extends Model {
  @Column('date') valid_from!: string
  @Column({ type: Date }) ends_at!: Date
  @Column('int') paid_to!: number
}

/** Renders the form of a list of prices. */
async function formOf(queryString: string): Promise<string> {
  const database = await new Database({ test: { url: 'sqlite::memory:' }, models: [Price] }, 'test').open()
  const filter = {
    valid_from: ['gte', 'lt'],
    ends_at: ['gte', 'lte'],
    paid_to: ['gte'],
  } as const
  const definition = definitionOf(database.getMetadata(Price), { filter }, 'The list')
  const parsed = new QueryParser(definition, { ignoresUnknown: true, list: '' }).parse(queryString)
  const html = String(filterForm(viewContext(), new ListQuery(definition, parsed)))
  await database.close()
  return html
}

describe('filterForm()', () => {
  it('shows a value that a date, a time or a number cannot hold as it was typed', async () => {
    const html = await formOf(
      'valid_from.gte=May+1&ends_at.lte=soon&paid_to.gte=ten&ends_at.gte=2026-05-01T10:30',
    )
    const inputs = [...html.matchAll(/<input [^>]*>/g)].map(([tag]) => {
      const [name, type, value] = ['name', 'type', 'value'].map(
        (it) => new RegExp(` ${it}="([^"]*)"`).exec(tag)?.[1],
      )
      return [name, type, value].join(' ')
    })
    expect(inputs).to.deep.equal([
      'valid_from.gte text May 1',
      'valid_from.lt date ',
      'ends_at.gte datetime-local 2026-05-01T10:30',
      'ends_at.lte text soon',
      'paid_to.gte text ten',
    ])
  })

  it('does not repeat the last word of an attribute in the label of a range', async () => {
    const html = await formOf('')
    const labels = [...html.matchAll(/<label [^>]*>([^<]*)/g)].map(([, text]) => text?.trim())
    expect(labels).to.deep.equal([
      'Valid from no earlier than',
      'Valid from earlier than',
      'Ends at from',
      'Ends at until',
      'Paid to at least',
    ])
  })
})
