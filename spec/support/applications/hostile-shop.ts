import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import { Database } from '../../../src/index.js'
import { sharedDatabase } from '../databases.js'
import { kit } from '../kit.js'
import { Served } from '../processes/served.js'
import { openProxy, type Cut, type Proxy } from '../servers/proxy.js'
import { temporaryFolder } from '../temporary-folder.js'
import { Application } from './generated.js'

/** A generated application with accounts, tokens, posts of users and nested comments, in production with `kit start`. */
export interface Shop {
  served: Served
  /** A connection to its database that does not lead through the proxy. */
  database: Database
  databaseUrl: string
  /** The folder for its temporary files. */
  temporary: string
  close(): Promise<void>
}

const commands = [
  'generate auth --confirm --sessions --api',
  'generate resource post title body:text rank:int state:enum:draft,public --owner user ' +
    '--filter title,rank,state --sort title,created_at --search title,body',
  'generate resource comment body:text --parent post',
]

/**
 * Generates, builds, migrates and starts it.
 *
 * @param cutOf where to cut each of its connections to a database server
 */
export async function openShop(cutOf?: () => Cut | undefined): Promise<Shop> {
  const application = Application.web()
  const { folder } = application
  application.linkPackages()
  for (const command of commands) await succeed(folder, command.split(' '))
  declareRoutes(application)
  const { status, output } = application.compile()
  if (status !== 0) throw new Error(output)

  const databaseUrl = await sharedDatabase()
  const temporary = join(temporaryFolder(), 'uploads')
  mkdirSync(temporary)
  const mails = await receiveMails()
  let proxy: Proxy | undefined
  // An application that cannot reach its database does not start.
  let hasStarted = false
  if (cutOf && !databaseUrl.startsWith('sqlite:'))
    proxy = await openProxy(databaseUrl, () => (hasStarted ? cutOf() : undefined))
  const env = { GO_ENV: 'production', DATABASE_URL: databaseUrl }
  await succeed(folder, ['db', 'migrate'], env)
  const served = await Served.start(folder, ['start'], {
    ...env,
    DATABASE_URL: proxy?.url ?? databaseUrl,
    HOST: '127.0.0.1',
    BASE_URL: 'https://shop.example',
    SESSION_SECRET: 'a secret of the shop that is under attack',
    MAIL_URL: `smtp://127.0.0.1:${mails.port}`,
    TMPDIR: temporary,
    NODE_OPTIONS: '--expose-gc',
  })
  hasStarted = true
  const database = await new Database({ test: { url: databaseUrl } }, 'test').open()
  return {
    served,
    database,
    databaseUrl,
    temporary,
    async close() {
      await served.remove()
      await database.close()
      await proxy?.close()
      await mails.close()
    },
  }
}

async function succeed(folder: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
  const { status, output, errors } = await kit(folder, args, { env })
  if (status !== 0) throw new Error(`kit ${args.join(' ')} failed:\n${output}${errors}`)
}

/** Declares the routes of `hostile-routes.ts`, which need no sign-in. */
function declareRoutes(application: Application): void {
  const routes = join(import.meta.dirname, 'hostile-routes.js')
  const app = application.read('src/app.ts')
  const place = "app.get('/', home)\n"
  if (!app.includes(place)) throw new Error(`src/app.ts has no line ${place}`)
  application.write(
    'src/app.ts',
    `import { declareHostileRoutes } from ${JSON.stringify(routes)}\n${app.replace(place, `${place}declareHostileRoutes(app)\n`)}`,
  )
}

/** A mail server that forgets what it receives. */
async function receiveMails(): Promise<{ port: number; close(): Promise<void> }> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, done) {
      stream.resume().on('end', () => done())
    },
  })
  server.on('error', () => {})
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // A server that listens on a port has an AddressInfo.
  const { port } = server.server.address() as AddressInfo
  return { port, close: () => new Promise((closed) => server.close(() => closed())) }
}
