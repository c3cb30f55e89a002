import { expect } from 'chai'
import { Exclude } from 'class-transformer'
import { IsBoolean, IsEmail, IsString } from 'class-validator'
import { Column, Entity, ManyToOne } from 'typeorm'
import type { Relation } from 'typeorm'
import { App, Model, Present, type AttributeOf, type Context } from '../../src/index.js'
import { Site } from '../support/site.js'

@Entity('writers')
class Writer extends Model {
  @Column('varchar')
  name!: string

  @Column('varchar', { nullable: true })
  @Exclude()
  password_digest!: string | null

  @Column('bool')
  admin = false

  @Column('json', { nullable: true })
  settings!: unknown

  @ManyToOne(() => Writer)
  editor?: Relation<Writer> | null

  books?: Writer[]

  get initial(): string {
    return this.name.slice(0, 1)
  }

  greet(): void {}
}

class SignIn {
  @IsEmail()
  email = ''

  @Present()
  password = ''

  @IsBoolean()
  remember = false

  @IsString({ each: true })
  tags: string[] = []

  admin = false
}

/** Returns what an action returns, or throws, when it receives this JSON. */
async function sent(json: object, action: (ctx: Context) => unknown, path = '/'): Promise<unknown> {
  let result: unknown
  const app = new App({ api: true })
  const handler = (ctx: Context) => {
    try {
      result = action(ctx)
    } catch (error) {
      result = String(error)
    }
    ctx.body = 'done'
  }
  app.post('/', handler)
  app.post('/writers/{name}', handler)
  const site = await Site.open(app)
  await site.post(path, { json })
  await site.close()
  return result
}

describe('ctx.bind(record, only)', () => {
  const body = { name: 'Ada', admin: true, settings: { dark: true }, password_digest: 'x' }

  it('copies the named attributes, and no other ones', async () => {
    const fields = ['name', 'settings'] as const
    expect({ ...((await sent(body, (ctx) => ctx.bind(new Writer(), fields))) as Writer) }).to.deep.equal({
      name: 'Ada',
      admin: false,
      settings: { dark: true },
    })
  })

  it('copies nothing if no attribute is named, and every attribute without the list', async () => {
    expect({ ...((await sent(body, (ctx) => ctx.bind(new Writer(), []))) as Writer) }).to.deep.equal({
      admin: false,
    })
    expect(await sent(body, (ctx) => ctx.bind(new Writer()))).to.include({ name: 'Ada', admin: true })
  })

  it('never copies an attribute with @Exclude, or a parameter of the path', async () => {
    const fields = ['name', 'password_digest'] as const
    expect({
      ...((await sent(body, (ctx) => ctx.bind(new Writer(), fields), '/writers/Grace')) as Writer),
    }).to.deep.equal({ admin: false })
  })

  it('adds the errors of two calls for one record', async () => {
    const wrong = { name: 1, admin: 'perhaps', settings: 'x' }
    const both = (ctx: Context) =>
      ctx.unreadable(ctx.bind(ctx.bind(new Writer(), ['name']), ['admin', 'settings']))
    const unreadable = (await sent(wrong, both)) as ReturnType<Context['unreadable']>
    expect(unreadable.map(({ attribute }) => attribute.name)).to.deep.equal(['name', 'admin'])
  })

  it('throws for a property that is not a column', async () => {
    expect(await sent({}, (ctx) => ctx.bind(new Writer(), ['initial']))).to.equal(
      'UnknownAttribute: Writer has no attribute "initial" that a request may set. It has name, password_digest, admin, settings.',
    )
  })

  it('reads a class that is not an entity by its decorators', async () => {
    const signIn = await sent(
      { email: 'ada@example.com', remember: 'true', tags: ['a', 'b', 'a'], admin: true },
      (ctx) => ctx.bind(new SignIn()),
    )
    expect({ ...(signIn as SignIn) }).to.deep.equal({
      email: 'ada@example.com',
      password: '',
      remember: true,
      tags: ['a', 'b', 'a'],
      admin: false,
    })
    expect(await sent({ email: 'x', remember: true }, (ctx) => ctx.bind(new SignIn(), ['email']))).to.include(
      {
        email: 'x',
        remember: false,
      },
    )
  })

  for (const [what, record, name] of [
    ['a class without decorators', new (class Plain {})(), 'Plain'],
    ['a plain object', {}, 'Object'],
    ['an object without a class', Object.create(null), 'An object without a class'],
  ] as const) {
    it(`throws for ${what}, which has no attributes`, async () => {
      expect(await sent({ email: 'x' }, (ctx) => ctx.bind(record))).to.equal(
        `NoAttributes: ${name} is not an entity, and none of its properties has a decorator, so ctx.bind() has nothing to ` +
          'read. Add decorators of class-validator to its properties, for example @Present() or @Allow(), mark the class ' +
          'with @Entity(), or read ctx.request.body.',
      )
    })
  }

  it('validates such a class, with the errors in the order of its properties', async () => {
    const app = new App()
    app.post('/session', async (ctx) => {
      const signIn = ctx.bind(new SignIn())
      const errors = await ctx.validate(signIn)
      ctx.body = { signIn, errors: errors?.messages }
    })
    const site = await Site.open(app)
    const form = { email: '', password: ' ', remember: 'perhaps', tags: '' }
    const { json } = await site.post('/session', {
      form,
      headers: { authorization: 'Bearer x' },
      accept: 'json',
    })
    await site.close()
    expect(JSON.stringify(json)).to.equal(
      JSON.stringify({
        signIn: { email: '', password: ' ', remember: false, tags: [], admin: false },
        errors: {
          email: ['Email must be an email address.'],
          password: ['Password cannot be blank.'],
          remember: ['Remember must be true or false.'],
        },
      }),
    )
  })

  it('compiles only with attributes of the record', async () => {
    await sent({}, (ctx) => {
      // @ts-expect-error: misspelled
      ctx.bind(new Writer(), ['nmae'])
      // @ts-expect-error: the framework sets the id
      ctx.bind(new Writer(), ['id'])
      // @ts-expect-error: the framework sets the timestamps
      ctx.bind(new Writer(), ['created_at'])
      // @ts-expect-error: a relation
      ctx.bind(new Writer(), ['editor'])
      // @ts-expect-error: a relation to many records
      ctx.bind(new Writer(), ['books'])
      // @ts-expect-error: a method
      ctx.bind(new Writer(), ['greet'])
    })
    const attributes: AttributeOf<Writer>[] = ['name', 'password_digest', 'admin', 'settings', 'initial']
    expect(attributes).to.have.length(5)
  })
})
