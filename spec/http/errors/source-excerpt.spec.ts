import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { sourceExcerpt } from '../../../src/http/errors/source-excerpt.js'
import { inFolder } from '../../support/temporary-folder.js'

const source = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`).join('\r\n')

/** An error whose stack contains these places. */
function errorAt(...places: string[]): Error {
  const error = new Error('a message\n    at evil (/etc/passwd.ts:1:1)')
  error.stack = `Error: ${error.message}\n${places.map((place) => `    at ${place}`).join('\n')}`
  return error
}

describe('sourceExcerpt(error, folder)', () => {
  it('returns the first line of the stack in the application’s own code, with the lines around it', () =>
    inFolder(async (folder) => {
      await mkdir(join(folder, 'src'))
      const file = join(folder, 'src/posts.ts')
      await writeFile(file, source)
      const error = errorAt('parse (node:url:1:1)', `async PostsResource.show (${file}:12:5)`, `${file}:1:1`)
      const excerpt = sourceExcerpt(error, folder)
      expect([excerpt?.file, excerpt?.line]).to.deep.equal(['src/posts.ts', 12])
      expect(excerpt?.lines.map(({ number }) => number)).to.deep.equal([8, 9, 10, 11, 12, 13, 14, 15, 16])
      expect(excerpt?.lines.find(({ isMeant }) => isMeant)).to.deep.equal({
        number: 12,
        text: 'line 12',
        isMeant: true,
      })
      const first = sourceExcerpt(errorAt(`file://${file}:1:1`), folder)
      expect(first?.lines.map(({ number }) => number)).to.deep.equal([1, 2, 3, 4, 5])
    }))

  it('returns the line that the error itself names', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'posts.de.yaml')
      await writeFile(file, source)
      const error = Object.assign(errorAt(), { file, line: 20 })
      expect(sourceExcerpt(error, folder)?.lines.at(-1)?.text).to.equal('line 20')
    }))

  it('returns nothing for a file outside of the folder, of node_modules, or of another kind, or without a file', () =>
    inFolder(async (outside) => {
      const folder = join(outside, 'blog')
      await mkdir(join(folder, 'node_modules/koa'), { recursive: true })
      for (const file of ['secret.ts', 'blog/.env', 'blog/node_modules/koa/index.js', 'blog/db.sqlite']) {
        await writeFile(join(outside, file), source)
      }
      await symlink(join(outside, 'secret.ts'), join(folder, 'link.ts'))
      await symlink(join(folder, '.env'), join(folder, 'env.ts'))
      const places = [
        `${outside}/secret.ts:1:1`,
        `${folder}/../secret.ts:1:1`,
        `${folder}/link.ts:1:1`,
        `${folder}/env.ts:1:1`,
        `${folder}/.env:1:1`,
        `${folder}/db.sqlite:1:1`,
        `${folder}/node_modules/koa/index.js:1:1`,
        `${folder}/gone.ts:1:1`,
        `${folder}:1:1`,
        'posts.ts:1:1',
        'eval (eval at wrap (/a/wrap.js:6:10), <anonymous>:7:1)',
        '<anonymous>',
      ]
      expect(sourceExcerpt(errorAt(...places), folder)).to.equal(undefined)
      for (const error of ['text', undefined, {}, Object.assign(new Error('x'), { stack: undefined })]) {
        expect(sourceExcerpt(error, folder)).to.equal(undefined)
      }
    }))

  it('returns nothing for a line that the file does not have', () =>
    inFolder(async (folder) => {
      await writeFile(join(folder, 'short.ts'), 'one')
      expect(sourceExcerpt(errorAt(`${folder}/short.ts:9:1`), folder)).to.equal(undefined)
    }))
})
