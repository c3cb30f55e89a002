import { expect } from 'chai'
import { Column, DeleteDateColumn, Entity, Generated, VersionColumn } from 'typeorm'
import type { ColumnType } from 'typeorm'
import { attributesOf, kindOf } from '../../../src/models/attributes/attributes.js'
import { Model } from '../../../src/models/model.js'

enum Level {
  Low,
  High = 5,
}

abstract class Titled extends Model {
  @Column()
  title!: string

  @Column('varchar')
  overridden!: string
}

@Entity('everythings')
class Everything extends Titled {
  @Column('text')
  declare overridden: string

  @Column('varchar', { length: 80, nullable: true })
  name?: string | null

  @Column()
  count!: number

  @Column({ type: 'decimal', precision: 10, scale: 2 })
  price!: string

  @Column()
  is_public!: boolean

  @Column()
  published_at!: Date

  @Column({ type: 'simple-enum', enum: ['draft', 'public'] })
  state!: string

  @Column({ type: 'simple-enum', enum: Level })
  level!: Level

  @Column({ type: 'uuid', nullable: true })
  author_id?: string | null

  @Column('varchar', { select: false })
  password_digest!: string

  @Column({ type: 'varchar', update: false })
  once!: string

  @Column({ type: 'varchar', insert: false })
  never!: string

  @Column('int')
  @Generated('increment')
  number!: number

  @Column('blob')
  image!: Buffer

  @Column('simple-array')
  tags!: string[]

  @VersionColumn()
  version!: number

  @DeleteDateColumn()
  deleted_at!: Date
}

describe('attributesOf(model)', () => {
  it('lists the attributes that a client may set, the inherited columns first', () => {
    expect(attributesOf(Everything)).to.deep.equal([
      { name: 'title', kind: 'string', nullable: false },
      { name: 'overridden', kind: 'text', nullable: false },
      { name: 'name', kind: 'string', nullable: true, length: 80 },
      { name: 'count', kind: 'int', nullable: false },
      { name: 'price', kind: 'decimal', nullable: false, precision: 10, scale: 2 },
      { name: 'is_public', kind: 'bool', nullable: false },
      { name: 'published_at', kind: 'datetime', nullable: false },
      { name: 'state', kind: 'enum', nullable: false, values: ['draft', 'public'] },
      { name: 'level', kind: 'enum', nullable: false, values: [0, 5] },
      { name: 'author_id', kind: 'uuid', nullable: true },
    ])
  })

  it('is computed once per class', () => {
    expect(attributesOf(Everything)).to.equal(attributesOf(Everything))
    expect(attributesOf(Titled)).to.not.equal(attributesOf(Everything))
  })

  it('is empty for a class without columns', () => {
    expect(attributesOf(class {})).to.deep.equal([])
  })
})

describe('kindOf(type)', () => {
  const kinds: [ColumnType, string | undefined][] = [
    [String, 'string'],
    [Number, 'int'],
    [Boolean, 'bool'],
    [Date, 'datetime'],
    ['varchar', 'string'],
    ['longtext', 'text'],
    ['tinyint', 'int'],
    ['bigint', 'bigint'],
    ['double precision', 'float'],
    ['numeric', 'decimal'],
    ['date', 'date'],
    ['time', 'time'],
    ['timestamptz', 'datetime'],
    ['uuid', 'uuid'],
    ['jsonb', 'json'],
    ['simple-json', 'json'],
    ['enum', 'enum'],
    ['bytea', undefined],
  ]
  for (const [type, kind] of kinds) {
    it(`returns ${kind ?? 'no attribute'} for ${typeof type === 'function' ? type.name : String(type)}`, () => {
      expect(kindOf(type)).to.equal(kind)
    })
  }
})
