import { Validator } from '@seriousme/openapi-schema-validator'
import { expect } from 'chai'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Application } from '../../support/applications/generated.js'
import { kit, root, type Run } from '../../support/kit.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const blog = join(root, 'examples/blog')

describe('kit openapi', () => {
  const run = (...args: string[]): Promise<Run> => kit(blog, ['openapi', ...args])
  let folder: string
  let file: string

  before(() => {
    folder = temporaryFolder()
    file = join(folder, 'openapi.json')
  })

  after(() => rmSync(folder, { recursive: true }))

  it('prints the document, with the name and the version of package.json', async () => {
    const { status, output, errors } = await run()
    expect(status).to.equal(0)
    const document = JSON.parse(output)
    expect(document.info).to.deep.equal({ title: 'blog', version: '0.1.0' })
    expect(Object.keys(document.components.schemas)).to.deep.equal([
      'Comment',
      'Post',
      'PostChanges',
      'PostCommentChanges',
      'PostCommentInput',
      'PostInput',
      'Problem',
    ])
    expect((await new Validator().validate(document)).valid).to.equal(true)
    expect(errors).to.equal('GET / (home) has no "responses", so the document lacks it.')
  })

  it('writes the document, and compares it with --check', async () => {
    const missing = await run('--out', file, '--check')
    expect(missing.status).to.equal(1)
    expect(missing.errors).to.include(`${file} does not exist.`)
    expect((await run('--out', file)).status).to.equal(0)
    expect(existsSync(file)).to.equal(true)
    expect((await run('--out', file, '--check')).status).to.equal(0)
    const document = JSON.parse(readFileSync(file, 'utf8'))
    delete document.paths['/posts'].post
    document.components.schemas.Post.required.pop()
    writeFileSync(file, JSON.stringify(document))
    const changed = await run('--out', file, '--check')
    expect(changed.status).to.equal(1)
    expect(changed.errors.split('\n').slice(-3)).to.deep.equal([
      `${file} differs from the application. \`kit openapi --out ${file}\` writes it again.`,
      '  added: paths /posts post',
      '  changed: components schemas Post',
    ])
  })

  it('rejects a file in a folder that does not exist', async () => {
    const lost = join(folder, 'nowhere/openapi.json')
    const { status, errors } = await run('--out', lost)
    expect(status).to.equal(1)
    expect(errors.split('\n').at(-1)).to.equal(
      `The folder of ${lost} does not exist. Create it, or choose another file.`,
    )
  })

  it('rejects an unknown path, and --check without a file', async () => {
    const unknown = await run('--path', '/v2.json')
    expect([unknown.status, unknown.errors]).to.deep.equal([
      1,
      'There is no document at /v2.json. Choose one of /openapi.json.',
    ])
    expect((await run('--check')).errors).to.equal('--check needs --out, the file that it compares.')
  })
})

describe('kit openapi and kit build, with declarations of their own', () => {
  let app: Application

  before(() => {
    app = Application.api()
    app.run('tsc', '--version')
  })

  after(() => app.remove())

  /** Declares routes in src/app.ts. */
  const declare = (imports: string, lines: string) =>
    app.write(
      'src/app.ts',
      `import 'reflect-metadata'\nimport { Allow } from 'class-validator'\nimport { Type } from 'class-transformer'\nimport { App, BaseResource, Model, Resource } from 'resource-kit'\nimport { openapi } from 'resource-kit/openapi'\n` +
        `import { Column, Entity } from 'typeorm'\n${imports}\nexport const app = new App({ api: true })\n${lines}\n`,
    )

  it('choose one of two documents with the same path by its host', async () => {
    declare(
      '',
      `
      const responses = { 204: 'empty' } as const
      app.extend(openapi('/host.json', { title: 'All', version: '1' }))
      app.get('/all', (ctx) => void (ctx.status = 204), { operationId: 'all', responses })
      for (const name of ['one', 'two'])
        app.host(name + '.example.com', (host) => {
          host.extend(openapi('/host.json', { title: name, version: '1' }))
          host.get('/' + name, (ctx) => void (ctx.status = 204), { operationId: name, responses })
        })`,
    )
    const titleAt = async (path: string) =>
      JSON.parse((await kit(app.folder, ['openapi', '--path', path])).output).info.title
    const titles = [await titleAt('two.example.com/host.json'), await titleAt('/host.json')]
    expect(titles).to.deep.equal(['two', 'All'])
    const names = '/host.json, one.example.com/host.json, two.example.com/host.json.'
    const { status, errors } = await kit(app.folder, ['openapi'])
    expect([status, errors]).to.deep.equal([
      1,
      `There are several documents. Choose one with --path: ${names}`,
    ])
    expect((await kit(app.folder, ['openapi', '--path', '/one.json'])).errors).to.include(
      `Choose one of ${names}`,
    )
  })

  it('report a field that the model lacks, as kit start does', async () => {
    declare(
      "@Entity('notes')\nclass Note extends Model {\n  @Column('varchar') name!: string\n}",
      `
      @Resource('/notes', { model: Note, fields: ['nmae' as 'name'] })
      class NotesResource extends BaseResource {}
      app.resource(NotesResource)`,
    )
    const reason =
      'NotesResource has the field "nmae", but Note has no attribute "nmae" that a request may set. It has name.'
    const printed = await kit(app.folder, ['openapi'])
    expect([printed.status, printed.errors]).to.deep.equal([1, reason])
    const built = await kit(app.folder, ['build'])
    expect([built.status, built.errors]).to.deep.equal([
      1,
      `The application was not built, because it would not start. ${reason}`,
    ])
  })

  it('report a body whose objects would not be validated', async () => {
    declare(
      'class Line {\n  @Allow() name!: string\n}\nclass ListRequest {\n  @Allow() @Type(() => Line) lines!: Line[]\n}',
      `
      app.extend(openapi('/openapi.json', { title: 'Lists', version: '1' }))
      app.post('/lists', () => undefined, { operationId: 'list', body: ListRequest, responses: { 204: 'empty' } })`,
    )
    const built = await kit(app.folder, ['build'])
    expect([built.status, built.errors]).to.deep.equal([
      1,
      'The application was not built, because it would not start. A request cannot set ListRequest.lines. Its objects of the ' +
        'class Line would not be validated. Add @ValidateNested({ each: true }).',
    ])
    app.write(
      'src/app.ts',
      app
        .read('src/app.ts')
        .replaceAll('Allow', 'IsString')
        .replace('@IsString() @Type', '@ValidateNested() @Type')
        .replace('{ IsString }', '{ IsString, ValidateNested }'),
    )
    expect((await kit(app.folder, ['build'])).errors).to.equal('')
  })
})
