import { expect } from 'chai'
import { Column, DeleteDateColumn, Entity } from 'typeorm'
import { columnTypes } from '../../src/models/attributes/kinds.js'
import { Database, Model } from '../../src/index.js'
import { newDatabase } from '../support/databases.js'
import { engine } from '../support/engine.js'
import { saveRecord } from '../support/records.js'

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

@Entity('drafts')
class Draft extends Model {
  @DeleteDateColumn()
  deleted_at!: Date | null
}

describe('The date of a record that softRemove deletes', () => {
  it('has milliseconds, but not on MariaDB', async () => {
    const database = await new Database(
      { test: { url: await newDatabase() }, models: [Draft] },
      'test',
    ).open()
    try {
      await database.synchronize()
      const before = Date.now()
      let digits = 0
      // A time ends with .000 once in a second.
      for (let more = 0; more < 3; more += 1) {
        const draft = await database.manager.save(new Draft())
        await database.manager.softRemove(draft)
        const found = await database.manager.findOneOrFail(Draft, {
          where: { id: draft.id },
          withDeleted: true,
        })
        expect(found.deleted_at?.getTime()).to.be.at.least(before - 1000)
        digits ||= Number(found.deleted_at?.getMilliseconds())
      }
      expect(digits > 0).to.equal(engine !== 'mariadb')
    } finally {
      await database.close()
    }
  })
})

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
