import { expect } from 'chai'
import { Column, Entity } from 'typeorm'
import { columnTypes } from '../../../src/data/attributes/columns.js'
import { saveRecord } from '../../../src/data/records/save.js'
import { Database, Model } from '../../../src/index.js'
import { newDatabase } from '../../support/databases.js'

@Entity('labels')
class Label extends Model {
  @Column(columnTypes.string)
  title!: string

  @Column(columnTypes.int)
  rank!: number

  protected override async setGeneratedColumns(): Promise<void> {
    await Promise.resolve()
    super.setGeneratedColumns()
  }
}

describe('The values of a record that is saved', () => {
  it('are the text of a number in a text column, never NaN, and those of an asynchronous setGeneratedColumns', async () => {
    const url = await newDatabase()
    const database = await new Database({ test: { url }, models: [Label] }, 'test').open()
    try {
      await database.synchronize()
      await database.transaction(async (tx) => {
        const label = Object.assign(new Label(), { title: 12, rank: 1 })
        expect(await saveRecord(tx, label as unknown as Label)).to.equal(undefined)
        expect(label.id).to.be.a('string')
      })
      const [row]: { title: string }[] = await database.query('SELECT title FROM labels')
      expect(row?.title).to.equal('12')
      const error = await database
        .transaction((tx) => saveRecord(tx, Object.assign(new Label(), { title: 'a', rank: NaN })))
        .catch((thrown: unknown) => thrown)
      expect(error).not.to.equal(undefined)
      expect(await database.manager.count(Label)).to.equal(1)
    } finally {
      await database.close()
    }
  })
})
