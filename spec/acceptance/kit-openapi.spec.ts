import { Validator } from '@seriousme/openapi-schema-validator'
import { expect } from 'chai'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kit, root, type Run } from '../support/kit.js'
import { temporaryFolder } from '../support/temporary-folder.js'

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
