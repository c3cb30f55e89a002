import { expect } from 'chai'
import { Exclude, Expose, Type } from 'class-transformer'
import {
  Allow,
  ArrayMaxSize,
  ArrayMinSize,
  IsDate,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Length,
  Min,
  ValidateNested,
} from 'class-validator'
import { Column, Entity } from 'typeorm'
import { App, Database, Model, Present, transaction, type Context } from '../../../src/index.js'
import { Contract } from '../../../src/openapi/contract.js'
import { buildDocument, documentsOf } from '../../../src/openapi/document.js'
import { testApplication, type TestApplication } from '../../../src/testing/index.js'
import { databaseWithTables } from '../../support/databases.js'
import { Site } from '../../support/site.js'

@Entity('products')
class Product extends Model {
  @Column('varchar') name!: string
}

class Serial {
  @Length(3, 5)
  code!: string
}

class Line {
  @Present()
  product!: string

  @IsInt()
  @Min(1)
  quantity!: number

  @IsOptional()
  @ArrayMaxSize(2)
  @ValidateNested({ each: true })
  @Type(() => Serial)
  serials!: Serial[] | null
}

class Address {
  @Present()
  street!: string

  @IsOptional()
  @ValidateNested()
  parent!: Address | null

  @IsOptional()
  @IsDate()
  since!: Date | null
}

class OrderRequest {
  @Present()
  number!: string

  @ArrayMinSize(1)
  @ArrayMaxSize(3)
  @ValidateNested({ each: true })
  @Type(() => Line)
  lines!: Line[]

  // The type of the property is its class.
  @ValidateNested()
  address = new Address()

  @IsOptional()
  @IsObject({ each: true })
  notes!: object[] | null
}
// TypeScript emits Object for a union.
Type(() => Address)(Address.prototype, 'parent')

/** A class whose properties have other names in bodies, or are left out. */
class Renamed {
  @Allow()
  @Expose({ name: 'items' })
  @ValidateNested({ each: true })
  @Type(() => Line)
  lines!: Line[]

  @Exclude()
  @ValidateNested()
  hidden = new Address()
}

describe('A body with objects of other classes', () => {
  let tested: TestApplication
  let app: App
  let bound: object

  const handler = (type: new () => object) =>
    async function handle(ctx: Context) {
      bound = ctx.bind(new type())
      const errors = await ctx.validate(bound)
      return errors
        ? ctx.respond(errors)
        : ctx.respond({ data: { product: 'Nail', quantity: 2, serials: null } })
    }

  before(async () => {
    const open = (url: string) => new Database({ test: { url, logging: false }, models: [Product] }, 'test')
    const url = await databaseWithTables('nested_bodies', async (created) => {
      const database = await open(created).open()
      await database.synchronize()
      await database.close()
    })
    const database = open(url)
    app = new App({ api: true, env: 'spec' })
    app.use(transaction(database))
    app.post('/orders', handler(OrderRequest), {
      operationId: 'createOrder',
      body: OrderRequest,
      responses: { 200: Line, 422: 'problem' },
    })
    app.post('/renamed', handler(Renamed))
    tested = testApplication(app, database, { contract: true })
    await tested.hooks.beforeAll()
  })

  after(() => tested.hooks.afterAll())

  const line = { product: 'Nail', quantity: 2 }
  const valid = { number: '1', lines: [line], address: { street: 'A' } }

  const errorsOf = async (body: object) => {
    const { json } = await tested.client.post('/orders', { json: { ...valid, ...body }, contract: false })
    return json.codes ?? json
  }

  it('becomes objects of these classes at all depths, whose values are converted', async () => {
    const json = {
      ...valid,
      lines: [{ ...line, quantity: '2', other: 1, serials: [{ code: 'abc', id: 'x' }] }, line],
      address: { street: 'A', parent: { street: 'B', since: '2026-01-02', parent: null } },
      notes: [{ any: 1 }],
    }
    await tested.client.post('/orders', { json, contract: false })
    const { lines, address, notes } = bound as OrderRequest
    expect(lines.map((one) => one.constructor)).to.deep.equal([Line, Line])
    expect({ ...lines[0] }).to.deep.equal({
      ...line,
      serials: [Object.assign(new Serial(), { code: 'abc' })],
    })
    expect(address.parent).to.be.instanceOf(Address)
    expect(address.parent).to.deep.include({ street: 'B', since: new Date('2026-01-02'), parent: null })
    expect(notes).to.deep.equal([{ any: 1 }])
  })

  it('is validated at all depths, with the place of each error', async () => {
    expect(
      await errorsOf({
        lines: [
          line,
          { product: ' ', quantity: 'many', serials: [{ code: 'abc' }, { code: 1 }] },
          { quantity: 0 },
        ],
        address: { parent: { parent: { street: 'C', since: 'never' } } },
      }),
    ).to.deep.equal({
      'lines.1.quantity': ['type.float'],
      'lines.1.serials.1.code': ['type.string'],
      'lines.1.product': ['present'],
      'lines.2.product': ['present'],
      'lines.2.quantity': ['min'],
      'address.parent.parent.since': ['type.datetime'],
      'address.street': ['present'],
      'address.parent.street': ['present'],
    })
  })

  it('has messages for each of them, in the language of the visitor', async () => {
    const json = { ...valid, lines: [{ product: 'A', quantity: 'x' }], address: 'here' }
    const response = await tested.client.post('/orders', { json, headers: { 'accept-language': 'en' } })
    expect(response.json.errors).to.deep.equal({
      'lines.0.quantity': ['Quantity must be a number.'],
      address: ['Address must be an object.'],
    })
  })

  for (const [what, body, codes] of [
    ['an object instead of a list', { lines: line }, { lines: ['type.list'] }],
    ['a number as an item', { lines: [line, 1] }, { lines: ['type.list'] }],
    ['a list as an item', { lines: [[line]] }, { lines: ['type.list'] }],
    ['null as an item', { lines: [null] }, { lines: ['type.list'] }],
    ['null instead of a list', { lines: null }, { lines: ['type.list'] }],
    ['null instead of an object', { address: null }, { address: ['present'] }],
    ['a list instead of an object', { address: [{ street: 'A' }] }, { address: ['type.object'] }],
    ['no items', { lines: [] }, { lines: ['arrayMinSize'] }],
    ['too many items', { lines: [line, line, line, line] }, { lines: ['arrayMaxSize'] }],
    [
      'names that objects inherit',
      JSON.parse('{"lines":[{"constructor":{"a":1},"toString":2}]}'),
      {
        'lines.0.product': ['present'],
        'lines.0.quantity': ['isInt', 'min'],
      },
    ],
  ] as const) {
    it(`rejects ${what}`, async () => {
      const found = await errorsOf(body)
      expect(Object.keys(found)).to.deep.equal(Object.keys(codes))
      for (const [field, rules] of Object.entries(codes)) expect(found[field]).to.have.members(rules)
    })
  }

  it('accepts null for an optional list or object, and an absent one with an initial value', async () => {
    const json = { number: '1', lines: [{ ...line, serials: null }], notes: null }
    await tested.client.post('/orders', { json, contract: false })
    const { lines, notes } = bound as OrderRequest
    expect([lines[0]?.serials, notes]).to.deep.equal([null, null])
  })

  it('may be XML or a form', async () => {
    const xml = `<order><number>1</number><lines><line><product>Nail</product><quantity>2</quantity>
      <serials><serial><code>abc</code></serial></serials></line></lines>
      <address><street>A</street><parent nil="true"/></address></order>`
    await tested.client.post('/orders', { xml })
    const fromXml = bound as OrderRequest
    const form = {
      number: '1',
      'lines[0][product]': 'Nail',
      'lines[0][quantity]': '2',
      'lines[0][serials][0][code]': 'abc',
      'address[street]': 'A',
      'address[parent]': '',
    }
    await tested.client.post('/orders', { form, fromPage: true })
    const expected = { ...line, serials: [Object.assign(new Serial(), { code: 'abc' })] }
    for (const { lines, address } of [fromXml, bound as OrderRequest]) {
      expect(lines).to.deep.equal([Object.assign(new Line(), expected)])
      expect(address).to.deep.equal(Object.assign(new Address(), { street: 'A', parent: null }))
    }
  })

  it('has the names of @Expose, and lacks what @Exclude excludes', async () => {
    const json = { items: [{ ...line, quantity: '3', other: 1 }], lines: [{}], hidden: { street: 'A' } }
    await tested.client.post('/renamed', { json })
    const { lines, hidden } = bound as Renamed
    expect(lines).to.deep.equal([Object.assign(new Line(), { product: 'Nail', quantity: 3 })])
    expect(hidden).to.deep.equal(new Address())
  })

  it('is described to the last property, under the name of its class', () => {
    const [declared] = documentsOf(app.declarations, { title: 'A', version: '1' })
    const { paths, components } = buildDocument(app.declarations, declared!).document
    const { schemas } = components
    const body = paths['/orders']?.['post']?.['requestBody']
    expect(body).to.have.nested.property(
      'content.application/json.schema.$ref',
      '#/components/schemas/OrderRequest',
    )
    expect(Object.keys(schemas)).to.deep.equal([
      'AddressBody',
      'Line',
      'LineBody',
      'OrderRequest',
      'Problem',
      'Serial',
      'SerialBody',
    ])
    expect(schemas['OrderRequest']).to.deep.include({
      required: ['number', 'lines'],
      properties: {
        number: { type: 'string', pattern: '\\S' },
        lines: {
          type: 'array',
          items: { $ref: '#/components/schemas/LineBody' },
          minItems: 1,
          maxItems: 3,
          xml: { name: 'lines', wrapped: true },
        },
        address: { $ref: '#/components/schemas/AddressBody' },
        notes: {
          type: ['array', 'null'],
          items: { type: 'object', additionalProperties: true, xml: { name: 'note' } },
          xml: { name: 'notes', wrapped: true },
        },
      },
    })
    expect(schemas['LineBody']).to.deep.include({ required: ['product', 'quantity'] })
    expect(schemas['LineBody'])
      .to.have.nested.property('properties.serials.type')
      .that.deep.equals(['array', 'null'])
    expect(schemas['AddressBody'])
      .to.have.nested.property('properties.parent.anyOf[0].$ref')
      .that.includes('AddressBody')
    expect(schemas['Line']).to.have.nested.property('properties.serials.items.$ref').that.includes('Serial')
  })

  it('fails the contract if the handler accepts an object without a required property', async () => {
    class Loose {
      @Allow()
      name!: string
    }
    class LooseRequest {
      @ValidateNested({ each: true })
      @Type(() => Loose)
      parts!: Loose[]
    }
    const loose = new App({ api: true, env: 'spec' })
    loose.post(
      '/',
      async (ctx) => ctx.respond({ json: (await ctx.validate(ctx.bind(new LooseRequest()))) ?? {} }),
      {
        operationId: 'loose',
        body: LooseRequest,
        responses: { 200: 'application/json' },
      },
    )
    const contract = new Contract(loose)
    const site = await Site.open(loose)
    site.contract = contract
    const send = (json: object) =>
      site.post('/', { json, accept: 'json' }).then(({ status }) => String(status), String)
    const results = [await send({ parts: [{ name: 'A' }] }), await send({ parts: [{ name: 'A' }, {}] })]
    await site.close()
    expect(results[0]).to.equal('200')
    expect(results[1]).to.include('for a body without /parts/1/name, which LooseBody of')
  })
})

describe('A body whose objects could not be read or validated', () => {
  class Bare {
    name!: string
  }

  class Checked {
    @IsString()
    name!: string
  }

  const message = (decorate: PropertyDecorator[], type: unknown = Array): string => {
    class ShopRequest {
      parts: unknown
    }
    Reflect.defineMetadata('design:type', type, ShopRequest.prototype, 'parts')
    for (const decorator of decorate) decorator(ShopRequest.prototype, 'parts')
    const app = new App({ api: true })
    app.post('/', () => undefined, { operationId: 'shop', body: ShopRequest, responses: { 204: 'empty' } })
    const [declared] = documentsOf(app.declarations, { title: 'A', version: '1' })
    try {
      buildDocument(app.declarations, declared!)
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }

  it('stops the start with what is missing', () => {
    const begin = 'A request cannot set ShopRequest.parts. '
    expect(message([ValidateNested({ each: true }), Type(() => Checked)])).to.equal('')
    expect(message([ValidateNested({ each: true })])).to.equal(
      `${begin}Add @Type(() => Line) of class-transformer, with the class of its objects.`,
    )
    expect(message([Allow(), Type(() => Checked)])).to.equal(
      `${begin}Its objects of the class Checked would not be validated. Add @ValidateNested({ each: true }).`,
    )
    expect(message([Allow(), Type(() => Checked)], Checked)).to.equal(
      `${begin}Its objects of the class Checked would not be validated. Add @ValidateNested().`,
    )
    expect(message([ValidateNested(), Type(() => Product)])).to.equal(
      `${begin}A request could set every column of the model Product. Declare a class with the properties that it may set.`,
    )
    expect(message([ValidateNested(), Type(() => Bare)])).to.equal(
      `${begin}Add decorators of class-validator to the properties of Bare, for example @Present() or @Allow().`,
    )
    expect(message([Allow()])).to.equal(
      `${begin}Its type is unknown. Add a decorator that states it: @IsString(), @IsNumber(), @IsBoolean(), @IsDate() or ` +
        '@IsObject(), with { each: true } for a list, or @ValidateNested() for objects of a class.',
    )
  })

  it('is not a class that a response has, too, because the schemas differ', () => {
    const app = new App({ api: true })
    app.post('/', () => undefined, {
      operationId: 'echo',
      body: OrderRequest,
      responses: { 200: OrderRequest },
    })
    const [declared] = documentsOf(app.declarations, { title: 'A', version: '1' })
    expect(() => buildDocument(app.declarations, declared!)).to.throw(
      'OrderRequest is the class of a body and of a response in the document /openapi.json',
    )
  })
})
