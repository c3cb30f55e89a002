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

describe('filterForm()', () => {
  it('does not repeat the last word of an attribute in the label of a range', async () => {
    const database = await new Database({ test: { url: 'sqlite::memory:' }, models: [Price] }, 'test').open()
    const filter = {
      valid_from: ['gte', 'lt'],
      ends_at: ['gte', 'lte'],
      paid_to: ['gte'],
    } as const
    const definition = definitionOf(database.getMetadata(Price), { filter }, 'The list')
    const parsed = new QueryParser(definition, { ignoresUnknown: true, list: '' }).parse('')
    const html = String(filterForm(viewContext(), new ListQuery(definition, parsed)))
    await database.close()
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
