import { expect } from 'chai'
import { Column, Entity, VersionColumn } from 'typeorm'
import { columnTypes } from '../../src/models/attributes/kinds.js'
import { Database, Model } from '../../src/index.js'
import { destroyRecord } from '../../src/records/save.js'
import { unscopedWork } from '../../src/records/work.js'
import { failure } from '../support/failure.js'
import { newDatabase } from '../support/databases.js'
import { findRecord, saveRecord } from '../support/records.js'

@Entity('contracts')
class Contract extends Model {
  @Column(columnTypes.string)
  title!: string

  @VersionColumn()
  lock_version!: number
}

describe('A record that is loaded without its version', () => {
  it('is neither saved nor deleted, because changes of others could be lost', async () => {
    const url = await newDatabase()
    const database = await new Database({ test: { url }, models: [Contract] }, 'test').open()
    try {
      await database.synchronize()
      const { id } = await database.manager.save(Object.assign(new Contract(), { title: 'a' }))
      const contract = await database.manager.findOneOrFail(Contract, {
        where: { id },
        select: { id: true, title: true, created_at: true },
      })
      contract.title = 'b'
      const message =
        'The Contract was loaded without lock_version, so this could overwrite the changes of other requests. ' +
        'Add "lock_version" to the "select" of the query that loads it.'
      expect(String(await failure(saveRecord(database.manager, contract)))).to.equal(
        `VersionNotLoaded: ${message}`,
      )
      expect(String(await failure(destroyRecord(unscopedWork(database.manager), contract)))).to.equal(
        `VersionNotLoaded: ${message}`,
      )
      expect((await database.manager.findOneByOrFail(Contract, { id })).title).to.equal('a')
    } finally {
      await database.close()
    }
  })
})

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
