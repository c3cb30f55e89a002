import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { App } from '../../../src/index.js'
import {
  makeUploadFolder,
  removeStaleUploads,
  removeUploadFolder,
} from '../../../src/http/body/upload-folders.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const hour = 60 * 60 * 1000

describe('removeStaleUploads()', () => {
  let parent: string
  let outside: string

  beforeEach(async () => {
    ;[parent, outside] = [temporaryFolder(), temporaryFolder()]
    writeFileSync(join(outside, 'file'), 'kept')
    for (const name of ['resource-kit-upload-a', 'resource-kit-upload-b', 'upload-c', 'other'])
      mkdirSync(join(parent, name))
    writeFileSync(join(parent, 'resource-kit-upload-a', 'file'), 'uploaded')
    writeFileSync(join(parent, 'resource-kit-upload-file'), 'no folder')
    symlinkSync(outside, join(parent, 'resource-kit-upload-link'))
  })

  afterEach(() => [parent, outside].forEach((folder) => rmSync(folder, { recursive: true })))

  it('deletes the folders of uploads that are older than a day, and nothing else', async () => {
    const before = readdirSync(parent)
    await removeStaleUploads(Date.now() + 23 * hour, parent)
    expect(readdirSync(parent)).to.deep.equal(before)
    await removeStaleUploads(Date.now() + 25 * hour, parent)
    expect(readdirSync(parent)).to.have.members([
      'other',
      'resource-kit-upload-file',
      'resource-kit-upload-link',
      'upload-c',
    ])
    expect(existsSync(join(outside, 'file'))).to.equal(true)
  })

  it('recognizes the folders in which uploads are stored', async () => {
    const folder = await makeUploadFolder()
    expect(basename(folder)).to.match(/^resource-kit-upload-/)
    await removeUploadFolder(folder)
    await removeUploadFolder(folder)
    expect(existsSync(folder)).to.equal(false)
  })

  it('runs when an application starts', async () => {
    const usual = process.env['TMPDIR']
    process.env['TMPDIR'] = parent
    const [old, other] = ['resource-kit-upload-a', 'resource-kit-upload-b'].map((name) => join(parent, name))
    const longAgo = (Date.now() - 25 * hour) / 1000
    utimesSync(String(old), longAgo, longAgo)
    try {
      const app = new App({ api: true })
      await app.start()
      while (existsSync(String(old))) await delay(5)
      expect(existsSync(String(other))).to.equal(true)
      await app.close()
    } finally {
      if (usual === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = usual
    }
  })

  it('ignores a missing temporary folder', async () => {
    await removeStaleUploads(Date.now(), join(parent, 'none'))
  })
})
