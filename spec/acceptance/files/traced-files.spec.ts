import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { newDatabase } from '../../support/databases.js'
import { describeOnce } from '../../support/engine.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

describeOnce('telemetry() and stored files', () => {
  it('has spans for bytes that are written and read, and for a variant that fails', async () => {
    const main = fileURLToPath(new URL('../../support/processes/traced-files-main.js', import.meta.url))
    const args = [main, await newDatabase(), temporaryFolder()]
    const env = { ...process.env, GO_ENV: 'test' }
    const { stdout } = await promisify(execFile)(process.execPath, args, { encoding: 'utf8', env })
    expect(JSON.parse(stdout)).to.deep.equal([
      ['file write', null],
      ['file read', null],
      ['file read', null],
      ['file variant', 'RecordNotFound'],
    ])
  })
})
