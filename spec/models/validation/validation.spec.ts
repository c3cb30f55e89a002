import { expect } from 'chai'
import { IsEmail, IsOptional, Length, Max, MaxLength, ValidateNested } from 'class-validator'
import { Present, validate } from '../../../src/models/validation/validation.js'

class Address {
  @Present()
  city?: string
}

class BlogPost {
  @Present()
  title: unknown = 'A title'

  @Length(2, 5)
  published_by = 'Anna'

  @IsOptional()
  @IsEmail()
  @MaxLength(10)
  author_id?: string | null

  @Max(3, { message: 'Three stars at most.' })
  stars = 1

  @ValidateNested()
  address?: Address

  @ValidateNested()
  addresses?: Address[]
}

const general = (id: string) => (id === 'validation.max' ? 'of the rule' : undefined)

const special = (id: string) => (id === 'validation.blog_post.stars.max' ? 'of the field' : undefined)

describe('validate(record, t)', () => {
  it('finds no errors in a valid record, or in one whose class has no rules', async () => {
    expect(await validate(new BlogPost())).to.equal(undefined)
    expect(await validate({})).to.equal(undefined)
  })

  it('finds all errors, by field and rule', async () => {
    const record = Object.assign(new BlogPost(), { title: '', author_id: 'no address at all', stars: 4 })
    const errors = await validate(record)
    expect(errors?.status).to.equal(422)
    expect(errors?.messages).to.deep.equal({
      title: ['Title cannot be blank.'],
      author_id: ['author_id must be shorter than or equal to 10 characters', 'author_id must be an email'],
      stars: ['Three stars at most.'],
    })
    expect(errors?.fields.get('author_id')?.map(({ rule }) => rule)).to.have.members(['maxLength', 'isEmail'])
  })

  it('names the fields of nested records by their path', async () => {
    const record = Object.assign(new BlogPost(), { address: new Address(), addresses: [new Address()] })
    expect((await validate(record))?.messages).to.deep.equal({
      'address.city': ['City cannot be blank.'],
      'addresses.0.city': ['City cannot be blank.'],
    })
  })

  it('uses the translation of the rule, with its values', async () => {
    const seen: [string, unknown][] = []
    const errors = await validate(Object.assign(new BlogPost(), { published_by: 'x' }), (id, values) => {
      seen.push([id, values])
      return id === 'validation.isLength' ? 'zu kurz' : undefined
    })
    expect(errors?.on('published_by')).to.deep.equal(['zu kurz'])
    const values = { attribute: 'Published by', min: 2, max: 5 }
    expect(seen).to.deep.equal([
      ['blog_post.published_by', {}],
      ['validation.blog_post.published_by.isLength', values],
      ['validation.isLength', values],
    ])
  })

  it('names the attribute by its translation, which is also the label of the form', async () => {
    const texts: Record<string, string> = { 'blog_post.published_by': 'Verfasst von' }
    const errors = await validate(Object.assign(new BlogPost(), { published_by: 'x' }), (id, values) =>
      id === 'validation.isLength' ? `${String(values['attribute'])} ist zu kurz.` : texts[id],
    )
    expect(errors?.on('published_by')).to.deep.equal(['Verfasst von ist zu kurz.'])
  })

  it('prefers the translation of the field to the message of the decorator, and that to the translation of the rule', async () => {
    const record = Object.assign(new BlogPost(), { stars: 4 })
    expect((await validate(record, general))?.on('stars')).to.deep.equal(['Three stars at most.'])
    expect((await validate(record, special))?.on('stars')).to.deep.equal(['of the field'])
  })
})

describe('@Present()', () => {
  const cases: [unknown, boolean][] = [
    ['text', true],
    [' text ', true],
    [0, true],
    [false, true],
    [new Date(0), true],
    ['', false],
    [' \t\n ', false],
    [null, false],
    [undefined, false],
  ]
  for (const [title, isValid] of cases) {
    it(`${isValid ? 'accepts' : 'rejects'} ${JSON.stringify(title)}`, async () => {
      const errors = await validate(Object.assign(new BlogPost(), { title }))
      expect(errors === undefined).to.equal(isValid)
    })
  }
})
