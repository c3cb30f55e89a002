import { expect } from 'chai'
import { Entity, ManyToOne } from 'typeorm'
import { Database, Model } from '../../src/index.js'
import { newDatabase } from '../support/databases.js'
import { failure } from '../support/failure.js'

@Entity('docs')
class Doc extends Model {}

@Entity('pages')
class Page extends Model {
  @ManyToOne(() => Doc, { lazy: true })
  doc!: Promise<Doc>
}

describe('A model with a lazy relation', () => {
  it('prevents that the database is opened', async () => {
    const database = new Database({ test: { url: await newDatabase() }, models: [Doc, Page] }, 'test')
    try {
      expect(String(await failure(database.open()))).to.equal(
        'DeclarationError: Page has the lazy relation "doc", whose value is a promise. Responses and transactions do not ' +
          "support lazy relations. Declare its type without Promise, and load it by ctx.load(record, 'doc').",
      )
    } finally {
      await database.close()
    }
  })
})
