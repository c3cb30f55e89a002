import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { codeBlocks, namedFile } from '../../support/documentation/code-blocks.js'
import { environment, kit, newApplication } from '../../support/kit.js'

/** The files of the page, apart from the alternative for all tests. */
const files = codeBlocks().flatMap((block) => {
  const file = block.page === 'docs/dependency-injection.md' ? namedFile(block) : undefined
  return file === undefined || file === 'spec/support/app.ts' ? [] : [{ file, code: block.code }]
})

/** A spec that runs after spec/mails.spec.ts, and replaces nothing. */
const unreplaced = `
import { expect } from 'chai'
import { client } from '../support/app.js'

describe('without a replacement', () => {
  it('uses the real mailer', async () => {
    const response = await client.post('/digests')
    expect(response.status).to.equal(202)
  })
})
`

describe('docs/dependency-injection.md, in a generated application', () => {
  let folder: string
  let remove: () => void
  let mailService: Server
  const mails: Record<string, string>[] = []

  before(async () => {
    mailService = createServer(async (request, response) => {
      mails.push(Object.fromEntries(new URLSearchParams(await text(request))))
      response.end()
    }).listen(0, '127.0.0.1')
    await once(mailService, 'listening')
    ;({ folder, remove } = await newApplication('--api'))
    await kit(folder, ['generate', 'resource', 'post', 'title', '--spec', 'full'])
    for (const { file, code } of files) write(file, code)
    write('spec/unreplaced/mails.spec.ts', unreplaced)
    const build = await kit(folder, ['build'])
    expect(build.status, build.output + build.errors).to.equal(0)
  })

  after(() => {
    mailService.close()
    remove()
  })

  function write(file: string, code: string): void {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), code)
  }

  it('shows the service, a resource, a middleware, the application and the spec', () => {
    expect(files.map(({ file }) => file)).to.deep.equal([
      'src/services/mailer.ts',
      'src/actions/digests.ts',
      'src/middleware/report-deletions.ts',
      'src/app.ts',
      'spec/mails.spec.ts',
    ])
  })

  it('replaces the service for each of its tests, and restores it', async () => {
    const { port } = mailService.address() as AddressInfo
    const options = ['--no-config', '--timeout', '60000', '--require', 'dist/spec/support/setup.js']
    const mocha = spawn(
      process.execPath,
      ['node_modules/mocha/bin/mocha.js', ...options, 'dist/spec/**/*.spec.js'],
      { cwd: folder, env: environment({ MAIL_SERVICE_URL: `http://127.0.0.1:${port}/mails` }) },
    )
    const [output, errors, [status]] = await Promise.all([
      text(mocha.stdout),
      text(mocha.stderr),
      once(mocha, 'close'),
    ])
    expect(status, output + errors).to.equal(0)
    expect(output).to.include('tell the team how many posts there are')
    expect(output).to.include('tell the team which post was deleted')
    // The specs that replace nothing have sent these: the generated one, which deletes a post, and the one above.
    const texts = mails.map((mail) => mail['text']?.replace(/[-\da-f]{36}/, '{post_id}'))
    expect(texts.toSorted()).to.deep.equal(['Deleted: /posts/{post_id}', 'Posts: 0'])
  })

  it('shows the middleware class and its file', async () => {
    const { output } = await kit(folder, ['routes', '--match', 'DELETE /posts/1'])
    expect(output).to.match(
      /^Middleware {2}parameterLogger, ReportDeletions \(src\/middleware\/report-deletions\.ts:\d+\), transaction$/m,
    )
    const json = await kit(folder, ['routes', '--match', 'DELETE /posts/1', '--json'])
    expect(JSON.parse(json.output).middleware.map(({ name }: { name: string }) => name)).to.deep.equal([
      'parameterLogger',
      'ReportDeletions',
      'transaction',
    ])
    expect(JSON.parse(json.output).middleware[1].file).to.match(/^src\/middleware\/report-deletions\.ts:\d+$/)
  })
})
