import { expect } from 'chai'
import { Column, Entity, JoinColumn, ManyToOne, VersionColumn, type Relation } from 'typeorm'
import { columnTypes } from '../../src/models/attributes/kinds.js'
import { destroyRecord } from '../../src/records/save.js'
import { unscopedWork } from '../../src/records/work.js'
import { Database, Model, ValidationErrors } from '../../src/index.js'
import { newDatabase } from '../support/databases.js'
import { failure } from '../support/failure.js'

@Entity('employees')
class Employee extends Model {
  @Column(columnTypes.uuid, { nullable: true })
  boss_id!: string | null

  @ManyToOne(() => Employee)
  @JoinColumn({ name: 'boss_id' })
  boss?: Relation<Employee>
}

@Entity('directors')
class Director extends Model {
  @Column(columnTypes.uuid, { nullable: true })
  boss_id!: string | null

  @ManyToOne(() => Director)
  @JoinColumn({ name: 'boss_id' })
  boss?: Relation<Director>

  @VersionColumn()
  lock_version!: number
}

describe('A record that refers to itself', () => {
  for (const model of [Employee, Director])
    it(`is deleted, unless another record refers to it: ${model.name}`, async () => {
      const url = await newDatabase()
      const database = await new Database({ test: { url }, models: [Employee, Director] }, 'test').open()
      try {
        await database.synchronize()
        const { manager } = database
        const { id } = await manager.save(Object.assign(new model(), { boss_id: null }))
        await manager.update(model, { id }, { boss_id: id })
        const clerk = await manager.save(Object.assign(new model(), { boss_id: id }))
        const destroy = (record: Employee | Director) =>
          database.transaction((tx) => destroyRecord(unscopedWork(tx), record))

        const boss = await manager.findOneByOrFail(model, { id })
        expect(await failure(destroy(boss))).to.be.instanceOf(ValidationErrors)
        expect((await manager.findOneByOrFail(model, { id })).boss_id).to.equal(id)
        await destroy(clerk)
        await destroy(boss)
        expect(await manager.count(model)).to.equal(0)
      } finally {
        await database.close()
      }
    })
})
