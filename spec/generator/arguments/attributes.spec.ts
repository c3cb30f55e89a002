import { expect } from 'chai'
import { parseAttributes } from '../../../src/generator/arguments/attributes.js'

const ENUM_LETTERS =
  'must begin with a letter from A to Z or a digit, and contain only letters, digits, spaces, "-" and "_". ' +
  'Pages show its translation, which can be any text.'

describe('parseAttributes(words)', () => {
  const rows: Record<
    string,
    [decorator: string, declaration: string, migration: string, field: string, shown: string]
  > = {
    title: [
      "@Column('varchar')",
      'title!: string',
      "column(runner, 'title', 'string')",
      "form.text('title', { required: true })",
      '= post.title',
    ],
    'title:nulls.String': [
      "@Column('varchar', { nullable: true })",
      'title!: string | null',
      "column(runner, 'title', 'string', { isNullable: true })",
      "form.textarea('title', { rows: 10 })",
      '= post.title',
    ],
    'body:text': [
      "@Column('text')",
      'body!: string',
      "column(runner, 'body', 'text')",
      "form.textarea('body', { rows: 10, required: true })",
      '= post.body',
    ],
    'body:nulls.Text': [
      "@Column('text', { nullable: true })",
      'body!: string | null',
      "column(runner, 'body', 'text', { isNullable: true })",
      "form.textarea('body', { rows: 10 })",
      '= post.body',
    ],
    'age:int:index': [
      "@Column('int')",
      'age!: number',
      "column(runner, 'age', 'int')",
      "form.number('age', { required: true })",
      '= post.age',
    ],
    'views:bigint': [
      "@Column('bigint')",
      'views!: string',
      "column(runner, 'views', 'bigint')",
      "form.number('views', { required: true })",
      '= post.views',
    ],
    'weight:nulls.Float': [
      "@Column('double precision', { nullable: true })",
      'weight!: number | null',
      "column(runner, 'weight', 'float', { isNullable: true })",
      "form.number('weight', { step: 'any' })",
      '= post.weight',
    ],
    'price:decimal': [
      "@Column('decimal', { precision: 10, scale: 2 })",
      'price!: string',
      "column(runner, 'price', 'decimal')",
      "form.number('price', { step: 0.01, required: true })",
      '= post.price',
    ],
    'rate:decimal:12,4': [
      "@Column('decimal', { precision: 12, scale: 4 })",
      'rate!: string',
      "column(runner, 'rate', 'decimal', { precision: 12, scale: 4 })",
      "form.number('rate', { step: 0.0001, required: true })",
      '= post.rate',
    ],
    'pieces:nulls.Decimal:20,0:unique': [
      "@Column('decimal', { precision: 20, scale: 0, nullable: true, unique: true })",
      'pieces!: string | null',
      "column(runner, 'pieces', 'decimal', { precision: 20, scale: 0, isNullable: true, isUnique: true })",
      "form.number('pieces')",
      '= post.pieces',
    ],
    'live:bool': [
      "@Column('boolean')",
      'live = false',
      "column(runner, 'live', 'bool')",
      "form.checkbox('live')",
      '!= display(post.live)',
    ],
    'live:nulls.Bool': [
      "@Column('boolean', { nullable: true })",
      'live!: boolean | null',
      "column(runner, 'live', 'bool', { isNullable: true })",
      "form.select('live', ['true', 'false'])",
      '!= display(post.live)',
    ],
    'day:date': [
      "@Column('date')",
      'day!: string',
      "column(runner, 'day', 'date')",
      "form.date('day', { required: true })",
      '!= time(post.day)',
    ],
    'at:time': [
      "@Column('time')",
      'at!: string',
      "column(runner, 'at', 'time')",
      "form.time('at', { required: true })",
      '= post.at',
    ],
    'at:nulls.Timestamp': [
      '@Column({ type: Date, nullable: true })',
      'at!: Date | null',
      "column(runner, 'at', 'datetime', { isNullable: true })",
      "form.dateTime('at')",
      '!= time(post.at)',
    ],
    'key:uuid:unique': [
      "@Column('uuid', { unique: true })",
      'key!: string',
      "column(runner, 'key', 'uuid', { isUnique: true })",
      "form.text('key', { required: true })",
      '= post.key',
    ],
    'data:json': [
      "@Column('json')",
      'data!: unknown',
      "column(runner, 'data', 'json')",
      "form.json('data', { required: true })",
      '!= display(post.data)',
    ],
    'state:enum:draft,public': [
      "@Column('simple-enum', { enum: ['draft', 'public'] })",
      "state!: 'draft' | 'public'",
      "column(runner, 'state', 'enum', { enum: ['draft', 'public'] })",
      "form.select('state', ['draft', 'public'], { required: true })",
      '= label(`post.state.${post.state}`)',
    ],
    'state:nulls.Enum:draft,public:index': [
      "@Column('simple-enum', { enum: ['draft', 'public'], nullable: true })",
      "state!: 'draft' | 'public' | null",
      "column(runner, 'state', 'enum', { enum: ['draft', 'public'], isNullable: true })",
      "form.select('state', ['draft', 'public'])",
      '= post.state && label(`post.state.${post.state}`)',
    ],
    'author:references': [
      "@Column('uuid')",
      'author_id!: string',
      "column(runner, 'author_id', 'uuid')",
      "form.select('author_id', authors, { required: true })",
      '!= display(post.author)',
    ],
    'author:nulls.References': [
      "@Column('uuid', { nullable: true })",
      'author_id!: string | null',
      "column(runner, 'author_id', 'uuid', { isNullable: true })",
      "form.select('author_id', authors)",
      '!= display(post.author)',
    ],
    'assignee:references:user': [
      "@Column('uuid')",
      'assignee_id!: string',
      "column(runner, 'assignee_id', 'uuid')",
      "form.select('assignee_id', users, { required: true })",
      '!= display(post.assignee)',
    ],
    'labels:many': [
      "@RelationIds('labels')",
      'label_ids!: string[]',
      "column(runner, 'label_ids', 'uuid')",
      "form.checkboxes('label_ids', labels)",
      '!= display(post.labels)',
    ],
    'tags:many:label': [
      "@RelationIds('tags')",
      'tag_ids!: string[]',
      "column(runner, 'tag_ids', 'uuid')",
      "form.checkboxes('tag_ids', labels)",
      '!= display(post.tags)',
    ],
  }

  for (const [word, [decorator, declaration, migration, field, shown]] of Object.entries(rows)) {
    it(`parses ${word}`, () => {
      const [attribute] = parseAttributes([word])
      expect(attribute).to.include({ decorator, declaration, migration, field })
      expect(attribute?.show('post', 'post')).to.equal(shown)
    })
  }

  it('finds the texts of an enum under the name of the record', () => {
    const [state] = parseAttributes(['state:enum:draft,public'])
    expect(state?.show('blogPost', 'blog_post')).to.equal('= label(`blog_post.state.${blogPost.state}`)')
  })

  it('accepts aliases of types, in upper and lower case', () => {
    const kinds = parseAttributes(['a:integer', 'b:Boolean', 'c:timestamp', 'd:nulls.UUID']).map(
      ({ kind }) => kind,
    )
    expect(kinds).to.deep.equal(['int', 'bool', 'datetime', 'uuid'])
  })

  it('has sample values that a decimal with any number of digits can hold', () => {
    const digits = ['', ':12,4', ':9,0', ':3,3', ':65,30']
    const samples = parseAttributes(digits.map((one, index) => `d${index}:decimal${one}`)).map(
      ({ samples }) => samples,
    )
    expect(samples.map(({ json, changed }) => `${json} ${changed}`)).to.deep.equal([
      "'1.50' '2.50'",
      "'1.5000' '2.5000'",
      "'1' '2'",
      "'-0.500' '0.500'",
      `'1.5${'0'.repeat(29)}' '2.5${'0'.repeat(29)}'`,
    ])
  })

  it('reads what follows a type in any order', () => {
    const pairs = [
      ['code:string:unique:index', 'code:string:index:unique'],
      ['state:enum:draft,public:index', 'state:enum:index:draft,public'],
      ['rate:decimal:12,4:unique', 'rate:decimal:unique:12,4'],
      ['owner:references:user:unique', 'owner:references:unique:user'],
    ]
    for (const [one = '', other = ''] of pairs) {
      expect(JSON.stringify(parseAttributes([other]))).to.equal(JSON.stringify(parseAttributes([one])))
    }
  })

  it('keeps attributes secret whose names contain a secret word, unless they are shown', () => {
    const secrets = (...words: string[]) =>
      parseAttributes(words)
        .filter(({ isSecret }) => isSecret)
        .map(({ name }) => name)
    const words = [
      'password',
      'password_digest',
      'api_token:string:unique',
      'reset_secret2:text',
      'token:references',
    ]
    expect(secrets(...words)).to.deep.equal([
      'password',
      'password_digest',
      'api_token',
      'reset_secret2',
      'token_id',
    ])
    expect(secrets('secretary', 'tokens', 'passwords', 'tokenizer', 'pin', 'api_key')).to.deep.equal([])
    expect(
      secrets('token:text:shown', 'api_token:string:unique:shown', 'daily_digest:bool:shown'),
    ).to.deep.equal([])
  })

  it('makes the column of a secret nullable', () => {
    const [secret, shown] = parseAttributes(['api_token:string:unique', 'token:string:shown'])
    expect(secret).to.include({
      isRequired: false,
      decorator: "@Column('varchar', { nullable: true, unique: true })",
      declaration: 'api_token!: string | null',
      migration: "column(runner, 'api_token', 'string', { isNullable: true, isUnique: true })",
    })
    expect(shown).to.include({ isRequired: true, declaration: 'token!: string' })
  })

  it('lists many-to-many relations after the columns', () => {
    expect(parseAttributes(['labels:many', 'title']).map(({ name }) => name)).to.deep.equal([
      'title',
      'label_ids',
    ])
  })

  it('indexes attributes with an index option, and references', () => {
    const indexed = parseAttributes(['a:int:index', 'b:int', 'author:references', 'c:references:unique'])
    expect(indexed.map(({ isIndexed }) => isIndexed)).to.deep.equal([true, false, true, false])
  })

  const rejections: Record<string, [words: string[], sentence: string]> = {
    'an unknown type': [
      ['title:strng'],
      'Unknown attribute type "strng" in "title:strng". Known types: string, text, int, bigint, float, decimal, bool, ' +
        'date, time, datetime, uuid, json, enum, references, many, file, files, image, images. Use nulls.X for a nullable attribute.',
    ],
    'an unknown nullable type': [
      ['title:nulls.Strng'],
      'Unknown attribute type "Strng" in "title:nulls.Strng".',
    ],
    'a type that is a member of every object': [
      ['title:constructor'],
      'Unknown attribute type "constructor"',
    ],
    'a type that is empty': [['title:'], 'Unknown attribute type "" in "title:".'],
    'a name that is reserved': [
      ['id:int'],
      `"id:int" isn't a valid attribute: it cannot be named "id", because every record has it already. Choose another name.`,
    ],
    'a word of the language': [['class'], 'because it is a reserved word of JavaScript'],
    'a member of Object': [['constructor'], 'because every object has a member of this name'],
    __proto__: [['__proto__'], 'because every object has a member of this name'],
    'a member of Model': [['validateCreate'], 'because every model has a method of this name'],
    'a repeated attribute': [
      ['title', 'title:text'],
      '"title:text" repeats the attribute "title". List each attribute once.',
    ],
    'the key of a reference': [['author:references', 'author_id'], 'repeats the attribute "author_id".'],
    'a bad name': [
      ['my title'],
      `"my title" isn't a valid attribute: its name must be a word like published_at.`,
    ],
    'camel case': [['publishedAt'], 'its name must be a word like published_at'],
    'a missing name': [[':text'], 'its name must be a word'],
    'an enum without values': [
      ['state:enum'],
      'an enum lists its values after the type, as in state:enum:draft,public.',
    ],
    'an enum with a repeated value': [['state:enum:a,b,a'], 'it lists the value "a" twice.'],
    'an enum with quotes': [["state:enum:a',b"], `its value "a'" ${ENUM_LETTERS}`],
    'an enum with an empty value': [['state:enum:a,,b'], `its value "" ${ENUM_LETTERS}`],
    'an enum with a letter that is not one of A to Z': [
      ['state:enum:x,größer'],
      `its value "größer" ${ENUM_LETTERS}`,
    ],
    'a decimal with half of its digits': [
      ['price:decimal:12'],
      `"price:decimal:12" isn't a valid attribute: a decimal has a precision (up to 65 digits) and ` +
        'a scale (up to 30), as in price:decimal:12,4.',
    ],
    'a decimal with more digits after the point than it has': [
      ['price:decimal:2,3'],
      'a decimal has a precision',
    ],
    'a decimal without digits': [['price:decimal:0,0'], 'a decimal has a precision'],
    'a decimal with more digits than all engines have': [['price:decimal:66,2'], 'a decimal has a precision'],
    'a decimal with more digits after the point than all engines have': [
      ['price:decimal:40,31'],
      'a decimal has a precision',
    ],
    'digits of an attribute that is not a decimal': [
      ['age:int:12,4'],
      'it ends with "12,4", but only unique, index and shown are supported',
    ],
    'an index of text': [
      ['body:text:index'],
      `"body:text:index" isn't a valid attribute: it ends with "index", but a text may be too long for an index. Use the type string.`,
    ],
    'unique values of json': [
      ['data:nulls.json:unique'],
      'it ends with "unique", but a json may be too long',
    ],
    'a name that is too long for a database': [['x'.repeat(51)], 'its name must be a word'],
    'a reference that is named for its key': [
      ['author_id:references:unique'],
      'the name of a reference has no "_id", which is added to its column. Use author:references:unique.',
    ],
    'a many-to-many relation in the singular': [
      ['label:many'],
      'the name of a many-to-many relation is plural. Use labels:many.',
    ],
    'a unique many-to-many relation': [
      ['tags:many:label:unique'],
      'a many-to-many relation is a list without a column. Use tags:many:label.',
    ],
    'a nullable many-to-many relation': [['tags:nulls.Many'], 'Use tags:many.'],
    'the ids of a many-to-many relation': [
      ['labels:many', 'label_ids'],
      'repeats the attribute "label_ids".',
    ],
    'an unknown modifier': [
      ['title:string:uniq'],
      'it ends with "uniq", but only unique, index and shown are supported.',
    ],
  }

  for (const [what, [words, sentence]] of Object.entries(rejections)) {
    it(`rejects ${what}`, () => {
      expect(() => parseAttributes(words)).to.throw(sentence)
    })
  }

  it('rejects the key of the parent', () => {
    expect(() => parseAttributes(['post_id:uuid'], ['post_id', 'post'])).to.throw(
      'repeats the attribute "post_id".',
    )
  })
})
