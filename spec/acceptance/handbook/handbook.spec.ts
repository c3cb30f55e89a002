import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { isAddition, withMethods } from '../../support/applications/merged-example.js'
import { codeBlocks, namedFile } from '../../support/documentation/code-blocks.js'
import { patternOf, sendByCurl, wordsOf } from '../../support/documentation/output.js'
import { environment, kit, newApplication } from '../../support/kit.js'

const PAGES = ['docs/validation.md', 'docs/file-uploads.md', 'docs/authorization.md']
const blocks = PAGES.flatMap((name) => codeBlocks().filter(({ page }) => page === name))

/** A spec of the application, which sends the requests that the pages describe in prose. */
const requests = `
import { expect } from 'chai'
import { Guest } from '../src/models/guest.js'
import { Report } from '../src/models/report.js'
import { sampleFile } from 'resource-kit/testing'
import { client, factory, isolate } from './support/app.js'
import { makeUser, signIn } from './support/users.js'

describe('The examples of the handbook', () => {
  isolate()

  it('show the form of a guest again, and count the seats that are left', async () => {
    const values = { name: 'Ada', email: 'ada@example.com' }
    await client.get('/guests/new')
    const wrong = await client.post('/guests', { form: { ...values, seats: 'many' } })
    expect(wrong.status).to.equal(422)
    expect(wrong.text).to.include('value="many"')
    const none = await client.post('/guests', { json: { ...values, seats: 0 }, accept: 'json' })
    expect(none.json.errors.seats).to.deep.equal(['Reserve at least 1 seat.'])
    for (let number = 0; number < 33; number += 1) await factory.make(Guest, { email: number + '@example.com', seats: 3 })
    const sold = await client.post('/guests', { json: { ...values, seats: 2 }, accept: 'json' })
    expect(sold.json.errors.seats).to.deep.equal(['Only 1 seats are left.'])
    expect(sold.json.codes.seats).to.deep.equal(['sold_out'])
  })

  it('show the contact form again with its errors, and accept a message', async () => {
    expect((await client.get('/contact')).text).to.include('name="copy"')
    const wrong = await client.post('/contact', { form: { email: 'ada', text: '', copy: 'true' } })
    expect(wrong.status).to.equal(422)
    expect(wrong.text).to.include('value="ada"').and.include('Text cannot be blank.').and.match(/checked/)
    const json = { email: 'ada@example.com', text: 'Hello', copy: 'yes' }
    const sent = await client.post('/contact', { json, accept: 'json' })
    expect(sent.json).to.deep.equal({ ...json, copy: true })
  })

  it('show an image on the page of its photo, and keep it after an error', async () => {
    const page = await client.get('/photos/new')
    expect(page.text).to.include('type="file"').and.include('formenctype="multipart/form-data"')
    const again = await client.post('/photos', { form: { title: '', image: sampleFile() } })
    expect(again.status).to.equal(422)
    const token = /name="image" value="([^"]+)"/.exec(again.text)?.[1] ?? ''
    const { location } = await client.post('/photos', { form: { title: 'Sunset', image: token } })
    const shown = await client.get(location)
    const [, path = ''] = /img src="([^"]+)"/.exec(shown.text) ?? []
    expect((await client.get(path)).headers.get('content-type')).to.equal('image/png')
    await client.delete(location, { accept: 'json' })
    expect((await client.get(path)).status).to.equal(404)
  })

  it('let users see and change their own reports only, and administrators all of them', async () => {
    const owner = await makeUser()
    const report = await factory.make(Report, { user_id: owner.id })
    const path = '/reports/' + report.id
    await signIn(client, await makeUser())
    expect((await client.get(path, { accept: 'json' })).status).to.equal(404)
    expect((await client.put(path, { json: { title: 'Mine' }, accept: 'json' })).status).to.equal(404)
    expect((await client.get('/reports', { accept: 'json' })).json).to.deep.equal([])

    client.forget()
    await signIn(client, owner)
    const user_id = (await makeUser()).id
    const changed = await client.put(path, { json: { title: 'New', user_id }, accept: 'json' })
    expect(changed.json).to.include({ title: 'New', user_id: owner.id })
    const page = await client.get(path + '/edit')
    expect(page.status).to.equal(200)
    expect((await client.post(path, { form: { _method: 'PUT', title: '' } })).status).to.equal(422)
    expect((await client.post(path, { form: { _method: 'PUT', title: 'Newer' } })).status).to.equal(303)

    client.forget()
    await signIn(client, await makeUser({ admin: true }))
    expect((await client.get('/reports', { accept: 'json' })).json).to.have.length(1)
    expect((await client.put(path, { json: { title: 'By an administrator' }, accept: 'json' })).status).to.equal(200)
  })
})
`

describe('An application with the examples of docs/validation.md, docs/file-uploads.md and docs/authorization.md', function () {
  let folder: string
  let remove: (() => void) | undefined
  let server: ChildProcess | undefined
  let address: string

  before(async () => {
    ;({ folder, remove } = await newApplication())
    await run('generate', 'auth')
    for (const block of blocks) {
      const file = namedFile(block)
      if (file) write(file, merged(file, block.code))
      for (const line of block.code.split('\n'))
        if (line.startsWith('npx kit generate')) await run(...line.split(' ').slice(2))
    }
    write('src/app.ts', withPublicRoutes(read('src/app.ts')))
    write('spec/examples.spec.ts', requests)
    await run('build')
    await run('db', 'migrate')
    ;[server, address] = await start()
  })

  after(() => {
    server?.kill()
    remove?.()
  })

  for (const [index, block] of blocks.entries()) {
    const lines = block.code.trim().split('\n')
    if (block.language !== 'sh' || !lines[0]?.startsWith('curl')) continue
    it(`${block.page}:${block.line}: ${lines.join('; ')}`, async () => {
      const outputs: string[] = []
      for (const line of lines) outputs.push(await sendByCurl(wordsOf(line), address))
      expect(outputs.join('\n')).to.match(patternOf(blocks[index + 1]?.code.trimEnd() ?? ''))
    })
  }

  it('returns the responses that the pages describe, and its specs on the pages pass', async () => {
    const mocha = ['node_modules/mocha/bin/mocha.js', '--no-config', '--timeout', '60000', '--exit']
    const specs = ['dist/spec/examples.spec.js', 'dist/spec/actions/photo-uploads.spec.js']
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [...mocha, '--require', 'dist/spec/support/setup.js', ...specs],
      { cwd: folder, encoding: 'utf8', env: environment() },
    )
    expect(status, stdout + stderr).to.equal(0)
    expect(stdout).to.include('7 passing')
  })

  /** A block adds methods to a class, or translations to a file, or it is the whole file. */
  function merged(file: string, code: string): string {
    if (file.startsWith('locales/')) return `${existsSync(join(folder, file)) ? read(file) : ''}\n${code}`
    return isAddition(code) ? withMethods(read(file), code) : code
  }

  function read(file: string): string {
    return readFileSync(join(folder, file), 'utf8')
  }

  function write(file: string, content: string): void {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), content)
  }

  async function run(...args: string[]): Promise<void> {
    const { status, output, errors } = await kit(folder, args)
    expect(status, output + errors).to.equal(0)
  }

  async function start(): Promise<[ChildProcess, string]> {
    const child = spawn(process.execPath, ['dist/src/main.js'], {
      cwd: folder,
      env: environment({ PORT: '0' }),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let url = ''
    for await (const line of createInterface(child.stdout)) {
      url = /listening on (http:[^"]+)/.exec(line)?.[1] ?? ''
      if (url) break
    }
    child.stdout.resume()
    expect(url).to.not.equal('')
    return [child, url]
  }
})

describe('docs/project-structure.md', () => {
  it('shows the files of an application with one resource', async () => {
    const { folder, remove } = await newApplication()
    try {
      const tree = codeBlocks().find(
        ({ page, code }) => page === 'docs/project-structure.md' && code.startsWith('blog\n'),
      )
      await kit(folder, ['generate', 'resource', 'post', 'title', 'description:nulls.text', '--spec', 'full'])
      const written = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !/node_modules|[/](?:dist|db|\.kit)\b/.test(entry.parentPath))
        .map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replace(/\d{13}/, '…'))
      expect(filesOf(tree?.code ?? '')).to.have.members(written)
    } finally {
      remove()
    }
  })
})

/** The paths of the files in a drawn tree. */
function filesOf(tree: string): string[] {
  const folders: string[] = []
  const paths = [...tree.matchAll(/^([│ ]*)[├└]── (\S+)/gm)].map(([, indent = '', name = '']) => {
    folders.splice(indent.length / 4, Infinity, name)
    return folders.join('/')
  })
  return paths.filter((path) => !paths.some((other) => other.startsWith(`${path}/`)))
}

/** Declares the routes of the contact form, and lets visitors use them, guests and photos without signing in. */
function withPublicRoutes(app: string): string {
  const resources = /^app\.resource\((?:Guests|Photos)Resource\)\n/gm
  const declarations = [
    ...(app.match(resources) ?? []),
    "app.get('/contact', newMessage)\n",
    "app.post('/contact', sendMessage)\n\n",
  ].join('')
  const others = app.replaceAll(resources, '').replace(/^app\.use\(requireUser\(\)\)/m, `${declarations}$&`)
  return `import { newMessage, sendMessage } from './actions/contact.js'\n${others}`
}
