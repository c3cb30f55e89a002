import { spawn, type ChildProcess } from 'node:child_process'
import { expect } from 'chai'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { failure } from '../../support/failure.js'
import { environment, kit, kitFile, newApplication } from '../../support/kit.js'

const wrongSpec = "export const one: number = 'one'\n"

describe('The commands that run an application', function () {
  let application: Awaited<ReturnType<typeof newApplication>>
  const children: ChildProcess[] = []
  /** The output of the last command. */
  let said = ''

  before(async () => {
    application = await newApplication()
  })

  afterEach(stopAll)

  after(() => application.remove())

  async function stopAll(): Promise<void> {
    for (const child of children.splice(0)) {
      const ended = new Promise((end) => child.once('close', end))
      child.kill('SIGTERM')
      await ended
    }
  }

  /** Starts a command that keeps running, and returns its address when it listens. */
  function serve(command: string, env: NodeJS.ProcessEnv, ...options: string[]): Promise<string> {
    return listening(start(process.execPath, [kitFile, command, ...options], env))
  }

  /** The same through a shell, as npm does it. */
  function serveByShell(command: string, env: NodeJS.ProcessEnv, ...options: string[]): Promise<string> {
    return listening(
      start('sh', ['-c', '"$0" "$@"; exit', process.execPath, kitFile, command, ...options], env),
    )
  }

  function start(program: string, args: string[], env: NodeJS.ProcessEnv): ChildProcess {
    const child = spawn(program, args, { cwd: application.folder, env: environment(env) })
    children.push(child)
    return child
  }

  function listening(child: ChildProcess): Promise<string> {
    said = ''
    return new Promise((listening, fail) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream?.on('data', (chunk: Buffer) => {
          said += chunk.toString()
          const [, address] = /(?:listening on|kit dev:) (http:\/\/[\w.]+:\d+)/.exec(said) ?? []
          if (address) listening(address)
        })
      }
      child.once('close', () => fail(new Error(said)))
    })
  }

  describe('kit start', () => {
    it('runs in production unless GO_ENV or NODE_ENV names another environment', async () => {
      const errors =
        'Sessions need a secret in production. Set SESSION_SECRET to a long random text. `kit generate secret` prints one.'
      const env = { PORT: '0', NODE_ENV: 'production' }
      const args = ['start', '--fallback-env', 'development']
      const failed = { status: 1, output: '', errors }
      expect(await kit(application.folder, ['start'], { env: { PORT: '0' } })).to.deep.equal(failed)
      expect(await kit(application.folder, args, { env })).to.deep.equal(failed)
    })

    describe('with a pending migration', () => {
      let file: string

      before(() => {
        mkdirSync(join(application.folder, 'migrations'), { recursive: true })
        file = join(application.folder, 'migrations/1795132800000_nothing.ts')
        writeFileSync(file, 'export class Nothing1795132800000 {\n  async up() {}\n  async down() {}\n}\n')
      })
      after(() => rmSync(file))

      const warning = /A migration has not been run yet: Nothing1795132800000\. Run `kit db migrate`/g

      it('builds the application, and warns once in production', async () => {
        const env = {
          GO_ENV: 'production',
          PORT: '0',
          HOST: '127.0.0.1',
          SESSION_SECRET: 'x'.repeat(32),
          DATABASE_URL: 'sqlite:db/pending.sqlite',
        }
        const address = await serve('start', env, '--workers', '2')
        while ((await fetch(`${address}/up`)).status !== 200);
        expect(said.match(warning)).to.have.length(1)
        // The user that serves is often not the user that builds.
        const modes = ['dist', 'src'].map((name) => statSync(join(application.folder, name)).mode)
        expect(modes[0]).to.equal(modes[1])
      })

      it('runs the migration once with --migrate in production', async () => {
        const env = {
          PORT: '0',
          HOST: '127.0.0.1',
          SESSION_SECRET: 'x'.repeat(32),
          DATABASE_URL: 'sqlite:db/migrating-in-production.sqlite',
        }
        await serve('start', env, '--migrate', '--workers', '2')
        expect(said.match(/migrated Nothing1795132800000/g)).to.have.length(1)
        expect(said).to.not.match(warning)
      })

      it('runs the migration outside of production, in the environment of --fallback-env, and ends with the npm that started it', async () => {
        const env = { npm_lifecycle_event: 'start', PORT: '0', DATABASE_URL: 'sqlite:db/migrating.sqlite' }
        // Like npm, the shell forwards no signal.
        const address = await serveByShell('start', env, '--fallback-env', 'development')
        expect(said).to.include('migrated Nothing1795132800000').and.not.to.match(warning)
        expect((await fetch(address)).status).to.equal(200)
        const [shell] = children.splice(0)
        const ended = new Promise((end) => shell?.once('close', end))
        shell?.kill('SIGTERM')
        await ended
        expect(said).to.include('SIGTERM: finishing the pending requests')
        expect(String(await failure(fetch(address)))).to.include('fetch failed')
      })
    })

    it('reports in one sentence that the port is in use', async () => {
      const other = createServer()
      await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening))
      // A server that listens on a port has an AddressInfo.
      const { port } = other.address() as AddressInfo
      const sentence = `Port ${port} is in use by another process. Stop it, or set PORT to another number.`
      const env = { GO_ENV: 'development', PORT: String(port) }
      for (const command of ['start', 'dev']) {
        const { status, errors } = await kit(application.folder, [command], { env })
        expect({ status, errors }).to.deep.equal({ status: 1, errors: sentence })
      }
      const npm = spawn('npm', ['start', '--silent'], {
        cwd: application.folder,
        env: environment(env),
      })
      expect(await text(npm.stderr), 'npm start').to.equal(`${sentence}\n`)
      other.close()
    })
  })

  describe('kit dev', () => {
    let address: string
    let dev: ChildProcess[]
    let home: string
    let welcome: string

    before(async () => {
      // The specs of an application may not compile yet.
      writeFileSync(join(application.folder, 'spec/broken.spec.ts'), wrongSpec)
      home = join(application.folder, 'src/actions/home.ts')
      welcome = readFileSync(home, 'utf8')
      address = await serve('dev', { PORT: '0', BASE_URL: '', DEVELOPMENT_HOSTS: 'blog.example' })
      dev = children.splice(0)
      expect(await pageOf(address)).to.include('Welcome to Blog')
    })

    after(async () => {
      children.push(...dev)
      await stopAll()
      writeFileSync(home, welcome)
      rmSync(join(application.folder, 'spec/broken.spec.ts'))
    })

    it('restarts after changes of the code, also after an error, and is the address to which mails link', async () => {
      const body = (text: string): string =>
        `import type { Context } from 'resource-kit'\nimport { absoluteUrl } from 'resource-kit/mail'\n\n` +
        `export function home(ctx: Context) {\n  ctx.body = ${text}\n}\n`
      const link = `${address}/inbox`

      writeFileSync(home, body(`absoluteUrl('/inbox')`))
      expect(await eventually(address, '/inbox')).to.equal(link)

      writeFileSync(home, body('nothing'))
      const page = await eventually(address, 'does not compile')
      expect(page).to.include('<h1>The application does not compile:</h1>')
      expect(page).to.include('src/actions/home.ts(5,14): error TS2304')

      writeFileSync(home, `${body(`'back'`)}\nthrow new Error('at the start')\n`)
      expect(await eventually(address, 'exited with status 1')).to.include('Error: at the start')

      writeFileSync(home, body(`absoluteUrl('/well-again')`))
      expect(await eventually(address, 'well-again')).to.equal(link.replace('inbox', 'well-again'))
      writeFileSync(join(application.folder, 'src/actions/more.ts'), 'export const more = 1\n')
      rmSync(join(application.folder, 'src/actions/more.ts'))
    })

    it('shows what uses the name of a route that has gone, and serves again when it is corrected', async () => {
      const body = (name: string): string =>
        `import type { Context } from 'resource-kit'\n\nexport function home(ctx: Context) {\n` +
        `  ctx.body = '${name} is ' + ctx.pathFor('${name}')\n}\n`
      const routes = join(application.folder, 'src/app.ts')
      const before = readFileSync(routes, 'utf8')
      writeFileSync(home, body('rootPath'))
      expect(await eventually(address, 'rootPath is')).to.equal('rootPath is /')

      writeFileSync(routes, before.replace("app.get('/', home)", "app.get('/', home, { name: 'startPath' })"))
      expect(await eventually(address, 'does not compile'))
        .to.include('src/actions/home.ts(4,')
        .and.to.include('rootPath')

      writeFileSync(home, body('startPath'))
      expect(await eventually(address, 'startPath is')).to.equal('startPath is /')
      writeFileSync(home, welcome)
      writeFileSync(routes, before)
      await eventually(address, 'Welcome to Blog')
    })

    it('runs no migrations: its pages list the pending ones until they have been run', async () => {
      const file = join(application.folder, 'migrations/1795132800001_later.ts')
      mkdirSync(join(application.folder, 'migrations'), { recursive: true })
      writeFileSync(file, 'export class Later1795132800001 {\n  async up() {}\n  async down() {}\n}\n')
      expect(await eventually(address, 'Later1795132800001')).to.include('kit db migrate')
      expect((await kit(application.folder, ['db', 'migrate'])).output).to.include(
        'migrated Later1795132800001',
      )
      expect(await pageOf(address)).to.not.include('Later1795132800001')
      await kit(application.folder, ['db', 'rollback'])
      rmSync(file)
    })

    it('shows no code to hosts other than development hosts', async () => {
      const [denied, ...shown] = await Promise.all(
        ['evil.example', 'localhost', 'blog.example'].map((host) => pageFor(host, address)),
      )
      expect(shown.map(({ status }) => status)).to.deep.equal([200, 200])
      expect(denied?.status).to.equal(403)
      expect(denied?.page).to.include('403').and.not.to.include(shown[0]?.page)

      writeFileSync(home, 'export const home = nothing\n')
      await eventually(address, 'does not compile')
      expect((await pageFor('blog.example', address)).page).to.include('src/actions/home.ts')
      expect((await pageFor('evil.example', address)).page)
        .to.include('The application is not running.')
        .and.to.include('DEVELOPMENT_HOSTS')
        .and.not.to.include('home.ts')
      const headers = { accept: 'text/html', 'x-forwarded-for': '192.0.2.1' }
      expect(await (await fetch(address, { headers })).text())
        .to.include('The application is not running.')
        .and.not.to.include('home.ts')
    })
  })

  describe('A type error in a spec', () => {
    let broken: string
    before(() => {
      broken = join(application.folder, 'spec/broken.spec.ts')
      writeFileSync(broken, wrongSpec)
      // The first command compiles the application. All would compile it with its specs, if they compiled specs.
      const source = join(application.folder, 'src/app.ts')
      writeFileSync(source, readFileSync(source, 'utf8'))
    })
    after(() => rmSync(broken))

    for (const command of [['db', 'status'], ['db', 'rollback'], ['routes'], ['info'], ['console']]) {
      it(`does not break kit ${command.join(' ')}`, async () => {
        const { status, errors } = await kit(application.folder, command)
        expect([status, errors]).to.deep.equal([0, ''])
      })
    }

    it('breaks kit build, which compiles the specs for npm test', async () => {
      const { status, errors } = await kit(application.folder, ['build'])
      expect(status).to.equal(1)
      expect(errors).to.contain('spec/broken.spec.ts(1,14): error TS2322')
    })
  })

  describe('kit console', () => {
    it('has the variables app and database', async () => {
      const { status, output } = await kit(application.folder, ['console'], {
        input: 'app.routes.length\nawait database.query("SELECT 40 + 2 AS answer")\n',
      })
      expect(status).to.equal(0)
      expect(output).to.equal('1\n[ { answer: 42 } ]')
    })

    it('waits for an awaited line of piped input before it reads the next one', async () => {
      const input = [
        'const [{ answer }] = await database.query("SELECT 42 AS answer")',
        'const later = await new Promise((resolve) => setImmediate(resolve, answer + 1))',
        '[1, 2].map((n) => {',
        '  return n + later',
        '})',
        '.help',
        'later + 1',
      ]
      const { status, output } = await kit(application.folder, ['console'], { input: input.join('\n') })
      expect(status).to.equal(0)
      expect(output).to.match(/^undefined\nundefined\n\[ 44, 45 \]\n\.break[^]*\n44$/)
    })

    it('has the Date that TypeORM stores', async () => {
      const input = 'new Date() instanceof app.constructor.constructor("return Date")()\n'
      expect((await kit(application.folder, ['console'], { input })).output).to.equal('true')
    })

    it('ignores the lines after .exit', async () => {
      const { status, output } = await kit(application.folder, ['console'], {
        input: '1 + 1\n.exit\n2 + 2\n',
      })
      expect([status, output]).to.deep.equal([0, '2'])
    })

    const failing = {
      'that throws': "throw new Error('on purpose')",
      'whose promise fails': "await Promise.reject(new Error('on purpose'))",
      'that fails in the database': "await database.query('on purpose')",
      'that throws a string': "throw 'on purpose'",
      'with a syntax error': 'on purpose',
    }
    for (const [what, line] of Object.entries(failing)) {
      it(`exits with 1 after a line of piped input ${what}, and runs the lines that follow`, async () => {
        const { status, output } = await kit(application.folder, ['console'], {
          input: `${line}\napp.routes.length\n`,
        })
        expect(output)
          .to.match(/^Uncaught/m)
          .and.to.match(/^1$/m)
        expect(status).to.equal(1)
      })
    }

    it('exits with the status that a line has set', async () => {
      const input = "process.exitCode = 3\nthrow new Error('on purpose')\n"
      expect((await kit(application.folder, ['console'], { input })).status).to.equal(3)
    })
  })

  describe('kit info', () => {
    it('prints the known facts about the application', async () => {
      const { output } = await kit(application.folder, ['info', '--json'])
      expect(JSON.parse(output)).to.include({
        application: 'blog',
        environment: 'development',
        address: 'http://127.0.0.1:3000',
        engine: 'better-sqlite3',
        database: 'db/development.sqlite',
        routes: 1,
        resources: 0,
      })
    })

    it('runs in any folder of the application', async () => {
      const { output } = await kit(join(application.folder, 'src/actions'), ['info'])
      expect(output).to.match(/^application +blog$/m)
    })
  })
})

async function pageOf(address: string): Promise<string> {
  return (await fetch(address, { headers: { Accept: 'text/html' } })).text()
}

/** The page and its status for a browser that uses the address with another host. */
async function pageFor(host: string, address: string): Promise<{ status: number; page: string }> {
  const asked = request(address, { headers: { Accept: 'text/html', Host: host } }).end()
  const [response]: IncomingMessage[] = await once(asked, 'response')
  if (!response) throw new Error('no response')
  return { status: response.statusCode ?? 0, page: await text(response) }
}

/** The page, as soon as it contains a text. */
async function eventually(address: string, text: string): Promise<string> {
  for (let page = ''; ; page = await pageOf(address)) {
    if (page.includes(text)) return page
    await delay(50)
  }
}
