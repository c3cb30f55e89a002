import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { codeBlocks, namedFile } from '../../support/documentation/code-blocks.js'
import { isAddition, withMethods } from '../../support/applications/merged-example.js'
import { environment, kit, newApplication } from '../../support/kit.js'

const pages = ['docs/resources.md', 'docs/middleware.md']

/** A spec of the application, which sends requests to the examples. */
const requests = `
import { expect } from 'chai'
import { app } from '../src/app.js'
import { Ticket } from '../src/models/ticket.js'
import { client, factory, isolate } from './support/app.js'

describe('The examples of the handbook', () => {
  isolate()

  it('list the open tickets and close one, in HTML and JSON', async () => {
    const ticket = await factory.make(Ticket, { closed_at: null })
    await factory.make(Ticket, { closed_at: new Date() })
    const open = await client.get('/tickets/open', { accept: 'json' })
    expect(open.json.map(({ id }: Ticket) => id)).to.deep.equal([ticket.id])
    expect((await client.get('/tickets/open')).text).to.include(ticket.subject)

    const closed = await client.post(app.pathFor('ticketClosePath', ticket), { form: {} })
    expect(closed.status).to.equal(303)
    expect((await client.get(closed.location)).text).to.include('The ticket is closed.')
    const again = await client.post(app.pathFor('ticketClosePath', ticket), { json: {}, accept: 'json' })
    expect(again.json.closed_at).to.be.a('string')
    expect((await client.get('/tickets/open', { accept: 'json' })).json).to.deep.equal([])
  })

  it('allow only administrators to read reports, and everyone to list them', async () => {
    const headers = { 'X-Admin-Token': 'secret' }
    expect((await client.get('/reports', { accept: 'json' })).status).to.equal(200)
    expect((await client.get('/reports/1', { accept: 'json' })).status).to.equal(403)
    expect((await client.get('/reports/1', { accept: 'json', headers })).json).to.deep.equal({ report: '1' })
    const totals = await client.get('/reports/totals', { accept: 'json', headers })
    expect(totals.json).to.deep.equal({ sales: 3, visits: 14 })
    expect(totals.headers.get('server-timing')).to.match(/^app;dur=/)
  })
})
`

describe('An application with the examples of docs/resources.md and docs/middleware.md', function () {
  let folder: string
  let remove: (() => void) | undefined

  before(async () => {
    ;({ folder, remove } = await newApplication())
    await run('generate', 'resource', 'post', 'title', 'description:nulls.text')
    await run('generate', 'resource', 'comment', 'body:text', '--parent', 'post')
    for (const block of codeBlocks().filter(({ page }) => pages.includes(page))) {
      const file = namedFile(block)
      if (file) write(file, isAddition(block.code) ? withMethods(read(file), block.code) : block.code)
      for (const line of block.code.split('\n'))
        if (line.startsWith('npx kit generate')) await run(...line.split(' ').slice(2))
    }
    const app = read('src/app.ts')
    const imported = "import { ReportsResource } from './actions/reports.js'\n"
    write('src/app.ts', imported + app.replace(/^app\.static/m, 'app.resource(ReportsResource)\n$&'))
    write('spec/examples.spec.ts', requests)
    // Together with the specs, so that no command has to build the application again.
    await run('build')
  })

  after(() => remove?.())

  it('lists the routes of the examples, and the file and line of a handler', async () => {
    const { output } = await run('routes', '--match', 'POST /tickets/1/close')
    const source = read('src/actions/tickets.ts').split('\n')
    const line = source.findIndex((one) => one.includes('async close(')) + 1
    expect(output).to.include('POST /tickets/{ticket_id}/close (ticketClosePath)')
    expect(output).to.match(new RegExp(`File +src/actions/tickets\\.ts:${line}$`))
    const [close] = JSON.parse((await run('routes', '--json', '--grep', 'ticketClosePath')).output)
    expect([close.summary, close.responses]).to.deep.equal([
      'Closes a ticket',
      { 200: 'Ticket', 404: 'problem' },
    ])
    const totals = await run('routes', '--match', 'GET /reports/totals')
    expect(totals.output).to.match(/Middleware .*, requireAdmin, stopwatch\n/)
  })

  it('returns the responses that the pages describe', async () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [
        'node_modules/mocha/bin/mocha.js',
        '--no-config',
        '--timeout',
        '60000',
        '--exit',
        '--require',
        'dist/spec/support/setup.js',
        'dist/spec/examples.spec.js',
      ],
      { cwd: folder, encoding: 'utf8', env: environment() },
    )
    expect(status, stdout + stderr).to.equal(0)
    expect(stdout).to.include('2 passing')
  })

  function read(file: string): string {
    return readFileSync(join(folder, file), 'utf8')
  }

  function write(file: string, content: string): void {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), content)
  }

  async function run(...args: string[]): Promise<{ output: string }> {
    const { status, output, errors } = await kit(folder, args)
    expect(status, output + errors).to.equal(0)
    return { output }
  }
})
