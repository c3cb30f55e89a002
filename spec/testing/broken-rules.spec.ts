import { expect } from 'chai'
import { IsPositive } from 'class-validator'
import { Column, Entity } from 'typeorm'
import { Model, Present } from '../../src/index.js'
import { brokenRules } from '../../src/testing/index.js'

@Entity('wares')
class Ware extends Model {
  @Column('varchar')
  @Present()
  name!: string

  @Column('decimal', { precision: 10, scale: 2 })
  @IsPositive()
  price!: string
}

describe('brokenRules', () => {
  const codesOf = (values: Partial<Ware>): Promise<Record<string, string[]>> =>
    brokenRules(Object.assign(new Ware(), values))

  it('returns the codes of the broken rules by attribute', async () => {
    expect(await codesOf({})).to.deep.equal({ name: ['present'], price: ['isPositive'] })
  })

  it('compares the texts of decimals, as ctx.save does', async () => {
    expect(await codesOf({ name: 'Tea', price: '0.00' })).to.deep.equal({ price: ['isPositive'] })
    expect(await codesOf({ name: 'Tea', price: '0.01' })).to.deep.equal({})
  })
})
