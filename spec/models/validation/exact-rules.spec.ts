import { expect } from 'chai'
import { IsDivisibleBy, IsInt, IsNegative, IsNumber, IsPositive, Max, Min } from 'class-validator'
import { Column, Entity } from 'typeorm'
import { validate } from '../../../src/models/validation/validation.js'
import { Model } from '../../../src/index.js'

@Entity('prices')
class Price extends Model {
  @Column('decimal', { precision: 20, scale: 2 }) @Min(0.1) @Max(1e21) price?: string
  @Column('decimal', { precision: 20, scale: 2 }) @IsPositive() @IsNumber() fee?: string
  @Column('decimal', { precision: 20, scale: 2 }) @IsNegative() discount?: string
  @Column('decimal', { precision: 20, scale: 2 }) @IsInt() whole?: string
  @Column('decimal', { precision: 20, scale: 4 }) @IsNumber({ maxDecimalPlaces: 3 }) rate?: string
  @Column('bigint') @Min(-5) @IsDivisibleBy(5) stock?: string
  @Column('varchar') @Min(0) name?: string
}

const valid = {
  price: '0.10',
  fee: '0.01',
  discount: '-0.01',
  whole: '3.00',
  rate: '0.125',
  stock: '-5',
  name: 5,
}

/** The rules that a price breaks, with all other values valid. */
async function broken(values: Partial<Record<keyof Price, unknown>>): Promise<string[]> {
  const errors = await validate(Object.assign(new Price(), valid, values))
  return [...(errors?.fields ?? [])].flatMap(([field, all]) => all.map(({ rule }) => `${field} ${rule}`))
}

describe('Rules for numbers, of a bigint or decimal that is a text', () => {
  it('accept values that meet them', async () => {
    expect(await broken({})).to.deep.equal([])
    expect(await broken({ stock: '9007199254740995', price: '99999999999999999.99' })).to.deep.equal([])
  })

  const rows: [field: keyof Price, value: unknown, rules: string[]][] = [
    ['price', '0.09', ['price min']],
    ['price', '1000000000000000000000.01', ['price max']],
    ['price', 'many', ['price max', 'price min']],
    ['fee', '0.00', ['fee isPositive']],
    ['discount', '0.00', ['discount isNegative']],
    ['whole', '3.50', ['whole isInt']],
    ['rate', '0.1251', ['rate isNumber']],
    ['stock', '-10', ['stock min']],
    ['stock', '9007199254740993', ['stock isDivisibleBy']],
  ]
  for (const [field, value, rules] of rows) {
    it(`reject ${String(value)} as ${field}`, async () => {
      expect(await broken({ [field]: value })).to.have.members(rules)
    })
  }

  it('still reject every text of another column', async () => {
    expect(await broken({ name: '5' })).to.deep.equal(['name min'])
  })
})
