import { expect } from 'chai'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { destroy, generate, type FileAction } from '../../../src/generator/files/files.js'
import { inFolder } from '../../support/temporary-folder.js'

describe('generate(folder, actions, options)', () => {
  it('names the files that it could not restore', () =>
    inFolder(async (folder) => {
      mkdirSync(join(folder, 'kept'))
      writeFileSync(join(folder, 'kept/notes.txt'), 'a')
      const edit = (path: string, insert: (text: string) => string): FileAction => ({
        path,
        what: 'a line',
        insert,
        remove: (text) => text,
      })
      const fail = (): string => {
        rmSync(join(folder, 'kept'), { recursive: true })
        writeFileSync(join(folder, 'kept'), 'a file in the place of the folder')
        throw new Error('no')
      }
      const actions = [edit('kept/notes.txt', (text) => `${text}b`), edit('other.txt', fail)]
      expect(() => generate(folder, actions)).to.throw(
        'other.txt cannot be written: no. These files could not be restored: kept/notes.txt.',
      )
    }))
})

describe('destroy(folder, actions, options)', () => {
  it('undoes the other steps if the file of a step is missing', () =>
    inFolder(async (folder) => {
      const edit: FileAction = {
        path: 'missing.txt',
        what: 'a line',
        insert: (text) => `${text}line`,
        remove: (text) => text.replace('line', ''),
        leftover: () => 'Remove the rest yourself.',
      }
      const create: FileAction = { path: 'created.txt', content: 'text' }
      generate(folder, [create])
      const printed: string[] = []
      const options = { confirm: () => Promise.resolve(true), print: (line: string) => printed.push(line) }
      expect(await destroy(folder, [create, edit], options)).to.equal(true)
      expect(existsSync(join(folder, 'created.txt'))).to.equal(false)
      expect(printed).to.deep.equal(['   delete  created.txt'])
    }))
})
