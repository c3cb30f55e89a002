import { expect } from 'chai'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { destroy, generate, type FileAction } from '../../../src/generator/files/files.js'
import { inFolder } from '../../support/temporary-folder.js'

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
