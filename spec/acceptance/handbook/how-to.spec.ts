import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { codeBlocks, namedFile } from '../../support/documentation/code-blocks.js'
import { wordsOf } from '../../support/documentation/output.js'
import { environment, kit, kitFile, newApplication } from '../../support/kit.js'

/** Registers the declarations of the recipes, as they describe it. */
const routes = `
app.post('/welcome', welcome)
app.resource(CustomersResource)
app.resource(ItemsResource)
app.resource(OrdersResource)
app.static('/assets', 'public/assets')
app.get('/', frontEnd)
app.get('/{*path}', frontEnd)
`

const imports = `
import { CustomersResource } from './actions/customers.js'
import { frontEnd } from './actions/front-end.js'
import { welcome } from './actions/welcome.js'
`

/** The existing tables of a recipe's database. */
const existingTables = `
import type { MigrationInterface, QueryRunner } from 'typeorm'

export class ExistingTables1999999999999 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.query('CREATE TABLE customers (customer_no INTEGER PRIMARY KEY, full_name VARCHAR NOT NULL)')
    await runner.query("INSERT INTO customers VALUES (7, 'Ada')")
  }

  async down() {}
}
`

describe('An application with the recipes of docs/how-to.md', function () {
  let folder: string
  let remove: () => void
  let server: ChildProcess
  let url: string

  before(async () => {
    ;({ folder, remove } = await newApplication())
    // The total is that of the orders of this page.
    const [orders] = codeBlocks().filter(({ page }) => page === 'docs/nested-records.md')
    for (const [line] of orders?.code.matchAll(/^npx kit generate .*$/gm) ?? [])
      await run(...wordsOf(line).slice(2))
    for (const block of codeBlocks().filter(({ page }) => page === 'docs/how-to.md')) {
      const file = namedFile(block)
      // packed.spec.ts runs the application by hand, whose only file this is.
      if (file && file !== 'src/app.ts') write(file, block.code)
      for (const line of block.code.split('\n'))
        if (/^npx kit generate (migration|job)/.test(line)) await run(...line.split(' ').slice(2))
    }
    const migrations = readdirSync(join(folder, 'migrations'))
    const total = `migrations/${migrations.find((name) => name.includes('add_total_to_orders'))}`
    const content = readFileSync(join(folder, total), 'utf8')
    write(total, content.replace('scale: 2 }', "scale: 2, default: '0.00' }"))
    write('public/index.html', '<p>The front end</p>')
    write('public/assets/app.js', 'start()')
    write('migrations/1999999999999_existing_tables.ts', existingTables)
    const app = readFileSync(join(folder, 'src/app.ts'), 'utf8')
    write(
      'src/app.ts',
      imports + app.replace(/^import { home }.*\n/m, '').replace(/^app\.get\('\/', home\)[^]*/m, routes),
    )
    await run('build')
    ;[server, url] = await start()
  })

  after(async () => {
    server?.kill()
    remove?.()
  })

  it('enqueues a job with a request', async () => {
    const { status, body } = await send('POST', '/welcome', {})
    expect(status).to.equal(202)
    const { output } = await kit(folder, ['jobs', 'list', '--json'])
    expect(JSON.parse(output)[0]).to.include({ id: Reflect.get(body, 'id'), name: 'call_webhook' })
  })

  it('reads and writes a table with numeric keys', async () => {
    expect((await send('GET', '/customers/7')).body).to.deep.equal({ id: 7, name: 'Ada' })
    expect((await send('GET', '/customers/ada')).status).to.equal(404)
    expect((await send('POST', '/customers', { name: 'Grace', id: 7 })).body).to.deep.equal({
      id: 8,
      name: 'Grace',
    })
    expect((await send('POST', '/customers', { name: ' ' })).status).to.equal(422)
  })

  it('computes the total of an order from its lines', async () => {
    const tea = await send('POST', '/items', { name: 'Tea', price: '1.5' })
    const cup = await send('POST', '/items', { name: 'Cup', price: '12.05' })
    const [first, second] = [tea, cup].map(({ body }) => String(Reflect.get(body, 'id')))
    const lines = [
      { item_id: first, quantity: 3 },
      { item_id: second, quantity: 2 },
    ]
    const { status, body } = await send('POST', '/orders', { number: '1', total: '0.01', lines })
    expect(status, JSON.stringify(body)).to.equal(201)
    expect(body).to.include({ total: '28.60' })
  })

  it('serves the front end at every other path', async () => {
    expect(await text('/')).to.equal('<p>The front end</p>')
    expect(await text('/a/page/of/it')).to.equal('<p>The front end</p>')
    expect(await text('/assets/app.js')).to.equal('start()')
    expect((await send('GET', '/api/nothing')).status).to.equal(404)
  })

  function write(file: string, content: string): void {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), content)
  }

  async function run(...args: string[]): Promise<void> {
    const { errors } = await kit(folder, args)
    expect(errors).to.equal('')
  }

  async function start(): Promise<[ChildProcess, string]> {
    const child = spawn(process.execPath, [kitFile, 'start', '--fallback-env', 'development'], {
      cwd: folder,
      env: environment({ PORT: '0' }),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let address = ''
    for await (const line of createInterface(child.stdout)) {
      address = /listening on (http:[^"]+)/.exec(line)?.[1] ?? ''
      if (address) break
    }
    child.stdout.resume()
    expect(address).to.not.equal('')
    return [child, address]
  }

  async function send(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; body: object }> {
    const response = await fetch(url + path, {
      method,
      headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as object }
  }

  async function text(path: string): Promise<string> {
    return (await fetch(url + path)).text()
  }
})
