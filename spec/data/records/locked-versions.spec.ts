import { expect } from 'chai'
import { Column, Entity, VersionColumn } from 'typeorm'
import { columnTypes } from '../../../src/data/attributes/kinds.js'
import { Database, Model } from '../../../src/index.js'
import { newDatabase } from '../../support/databases.js'
import { findRecord, saveRecord } from '../../support/records.js'

@Entity('contracts')
class Contract extends Model {
  @Column(columnTypes.string)
  title!: string

  @VersionColumn()
  lock_version!: number
}

describe('A record with a version that is read under a lock', () => {
  it('raises its version by each save that changes it', async () => {
    const url = await newDatabase()
    const database = await new Database({ test: { url }, models: [Contract] }, 'test').open()
    try {
      await database.synchronize()
      const { id } = await database.manager.save(Object.assign(new Contract(), { title: 'a' }))
      for (const title of ['b', 'c']) {
        await database.transaction(async (tx) => {
          const contract = await findRecord(tx, Contract, id, { lock: true })
          contract.title = title
          expect(await saveRecord(tx, contract)).to.equal(undefined)
        })
      }
      const { title, lock_version } = await database.manager.findOneByOrFail(Contract, { id })
      expect({ title, lock_version }).to.deep.equal({ title: 'c', lock_version: 3 })
    } finally {
      await database.close()
    }
  })
})
