import { expect } from 'chai'
import { Type } from 'class-transformer'
import {
  Allow,
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsDate,
  IsEmail,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  IsUUID,
  Min,
  ValidateNested,
} from 'class-validator'
import { plainAttributesOf } from '../../../src/models/attributes/plain-attributes.js'
import { Present } from '../../../src/models/validation/validation.js'
import { UntypedAttribute } from '../../../src/errors.js'

class Address {
  @Present()
  street!: string
}

describe('plainAttributesOf(class)', () => {
  it('returns the properties with a decorator of class-validator, with the kinds of their types', () => {
    class Search {
      @Present()
      text!: string

      @IsEmail()
      @Present()
      email = ''

      @Allow()
      pages!: number

      @Allow()
      exact!: boolean

      @Allow()
      since!: Date

      @IsIn(['new', 'old'])
      order!: 'new' | 'old'

      undecorated = ''
    }
    expect(plainAttributesOf(Search)).to.deep.equal([
      { name: 'text', kind: 'string', nullable: false },
      { name: 'email', kind: 'string', nullable: false },
      { name: 'pages', kind: 'float', nullable: false },
      { name: 'exact', kind: 'bool', nullable: false },
      { name: 'since', kind: 'datetime', nullable: false },
      { name: 'order', kind: 'string', nullable: false },
    ])
  })

  it('uses the rules of a property whose type TypeScript does not emit', () => {
    class Filter {
      @IsOptional()
      @IsString()
      text!: string | null

      @IsOptional()
      @IsInt()
      pages!: number | null

      @IsBoolean()
      exact = false

      @IsOptional()
      @IsDate()
      since!: Date | null

      @IsOptional()
      @Min(3)
      least!: number | null

      @IsObject()
      settings!: unknown
    }
    expect(plainAttributesOf(Filter)).to.deep.equal([
      { name: 'text', kind: 'string', nullable: true },
      { name: 'pages', kind: 'float', nullable: true },
      { name: 'exact', kind: 'bool', nullable: false },
      { name: 'since', kind: 'datetime', nullable: true },
      { name: 'least', kind: 'float', nullable: true },
      { name: 'settings', kind: 'json', nullable: false },
    ])
  })

  it('uses the initial value of a property whose type is not written', () => {
    class SignIn {
      @Present()
      name = ''

      @Allow()
      remember = false

      @Allow()
      attempts = 0

      @IsString({ each: true })
      tags = ['a']
    }
    expect(plainAttributesOf(SignIn).map(({ kind }) => kind)).to.deep.equal([
      'string',
      'bool',
      'float',
      'string',
    ])
    expect(plainAttributesOf(SignIn).at(-1)).to.include({ isList: true })
  })

  it('does not need an initial value if the class cannot be created without arguments', () => {
    class Named {
      @Present()
      name: string

      constructor(record: { name: string }) {
        this.name = record.name
      }
    }
    expect(plainAttributesOf(Named).map(({ kind }) => kind)).to.deep.equal(['string'])
  })

  it('reads lists by the rules for each of their values', () => {
    class Import {
      @IsString({ each: true })
      titles!: string[]

      @ArrayMaxSize(3)
      @IsUUID('all', { each: true })
      label_ids: string[] = []

      @IsArray()
      @IsNumber({}, { each: true })
      sizes!: number[] | null
    }
    expect(plainAttributesOf(Import)).to.deep.equal([
      { name: 'titles', kind: 'string', nullable: false, isList: true },
      { name: 'label_ids', kind: 'string', nullable: false, isList: true },
      { name: 'sizes', kind: 'float', nullable: false, isList: true },
    ])
  })

  it('inherits properties', () => {
    class Base {
      @Present()
      name!: string
    }
    class Derived extends Base {
      @Present()
      title!: string
    }
    expect(plainAttributesOf(Derived).map(({ name }) => name)).to.have.members(['name', 'title'])
  })

  it('knows the class of the objects of @ValidateNested', () => {
    class Order {
      @ValidateNested()
      address!: Address

      @IsOptional()
      @ValidateNested({ each: true })
      @Type(() => Address)
      others!: Address[] | null
    }
    expect(plainAttributesOf(Order)).to.deep.equal([
      { name: 'address', kind: 'json', nullable: false, nested: Address },
      { name: 'others', kind: 'json', nullable: true, isList: true, nested: Address },
    ])
  })

  it('is empty for a class without decorators', () => {
    expect(plainAttributesOf(class {})).to.deep.equal([])
  })

  it('throws for a property whose type is unknown', () => {
    class Unknown {
      @Present()
      response!: string | null
    }
    class List {
      @IsArray()
      tags!: string[]
    }
    class Nested {
      @ValidateNested({ each: true })
      addresses!: Address[]
    }
    const message = (model: Function) => {
      try {
        return String(plainAttributesOf(model).length)
      } catch (error) {
        expect(error).to.be.instanceOf(UntypedAttribute)
        return error instanceof Error ? error.message : ''
      }
    }
    expect(message(Unknown)).to.equal(
      'A request cannot set Unknown.response. Its type is unknown. Add a decorator that states it: @IsString(), ' +
        '@IsNumber(), @IsBoolean(), @IsDate() or @IsObject(), with { each: true } for a list, or @ValidateNested() for objects ' +
        'of a class.',
    )
    expect(message(List)).to.contain('List.tags')
    expect(message(Nested)).to.contain('Nested.addresses')
    expect(plainAttributesOf(Nested, [])).to.deep.equal([])
    expect(() => plainAttributesOf(Nested, ['addresses'])).to.throw(UntypedAttribute)
  })
})
