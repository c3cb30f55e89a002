import { expect } from 'chai'
import { column, primaryKey, timestamps, uuidType } from '../../src/data/columns.js'
import { openBlog } from '../support/blog-data.js'

describe('columns of migrations', () => {
  it('are those that the models have', async () => {
    const database = await openBlog('sqlite::memory:')
    const schemaBuilder = database.driver.createSchemaBuilder()
    const { upQueries } = await schemaBuilder.log()
    // The foreign key has another name, which makes TypeORM rebuild the table of comments; posts is as it should be.
    expect(
      upQueries.filter(({ query }) => query.includes('"posts"') && !query.includes('comments')),
    ).to.deep.equal([])
    await database.close()
  })

  it('have the type that the engine has for their kind', async () => {
    const database = await openBlog('sqlite::memory:')
    const runner = database.createQueryRunner()
    expect(primaryKey(runner)).to.deep.equal({ name: 'id', type: 'varchar', isPrimary: true })
    expect(timestamps(runner).map(({ name, type }) => [name, type])).to.deep.equal([
      ['created_at', 'datetime'],
      ['updated_at', 'datetime'],
    ])
    expect(uuidType(runner)).to.equal('varchar')
    expect(column(runner, 'price', 'decimal', { isNullable: true })).to.deep.equal({
      name: 'price',
      type: 'decimal',
      precision: 10,
      scale: 2,
      isNullable: true,
    })
    await runner.release()
    await database.close()
  })
})
