import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Database } from '../../../src/index.js'
import { temporaryFolder } from '../temporary-folder.js'
import { freePort } from './free-port.js'

/** A database server for one spec, on a free port and in a temporary folder: it can be stopped and started again. */
export interface OwnServer {
  /** The url of an empty database. */
  url: string
  start(): Promise<void>
  stop(signal: NodeJS.Signals): Promise<void>
  /** Stops it, and deletes its files. */
  remove(): Promise<void>
}

/** The commands of an engine's programs. */
interface Programs {
  /** The server's program, and one that prepares the folder. */
  server: string
  prepare: string[]
  run: string[]
  user: string
  url: string
}

type ServerEngine = 'postgres' | 'mariadb'

/** Whether the programs of an engine's server are installed. */
export function hasServer(engine: ServerEngine): boolean {
  return existsSync(programsOf(engine, '', 0).server)
}

/** Creates a server of an engine, and starts it. */
export async function ownServer(engine: ServerEngine): Promise<OwnServer> {
  const folder = temporaryFolder()
  const data = join(folder, 'data')
  // MariaDB, when it starts, deletes the temporary files of all servers in the folder.
  const TMPDIR = join(folder, 'temporary')
  for (const path of [data, TMPDIR]) mkdirSync(path)
  const port = await freePort()
  const { server, prepare, run, user, url } = programsOf(engine, data, port)
  const as = asUser(user, [folder, data, TMPDIR])
  // The server's user can read this folder, and the locale is installed everywhere.
  const settings = { cwd: '/', env: { PATH: process.env['PATH'], LC_ALL: 'C', TMPDIR } }
  const [program = '', ...args] = [...as, ...prepare]
  const prepared = spawnSync(program, args, { ...settings, encoding: 'utf8' })
  if (prepared.status !== 0)
    throw new Error(`${prepare.join(' ')} failed:\n${prepared.stdout}${prepared.stderr}`)

  let child: ChildProcess | undefined
  const end = (): unknown => child?.kill('SIGKILL')
  process.on('exit', end)

  async function stop(signal: NodeJS.Signals): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  async function start(): Promise<void> {
    const [program = '', ...args] = [...as, server, ...run]
    for (let time = 0; time < 20; time += 1) {
      child = spawn(program, args, { ...settings, stdio: 'ignore' })
      while (child.exitCode === null && child.signalCode === null) {
        if (await accepts(url)) return
        await delay(50)
      }
      // The processes of a killed server may have to end first.
      await delay(200)
    }
    throw new Error(`${server} does not start`)
  }

  await start()
  return {
    url,
    start,
    stop,
    async remove() {
      await stop('SIGKILL')
      process.off('exit', end)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function programsOf(engine: ServerEngine, folder: string, port: number): Programs {
  if (engine === 'mariadb') {
    const server = '/usr/sbin/mariadbd'
    const data = [`--datadir=${folder}`, '--no-defaults'].toReversed()
    return {
      server,
      prepare: ['mariadb-install-db', ...data, '--auth-root-authentication-method=normal', '--skip-test-db'],
      run: [
        ...data,
        `--port=${port}`,
        '--bind-address=127.0.0.1',
        `--socket=${folder}/s`,
        `--pid-file=${folder}/pid`,
      ],
      user: 'mysql',
      url: `mysql://root@127.0.0.1:${port}/mysql`,
    }
  }
  const bin = postgresFolder()
  return {
    server: `${bin}/postgres`,
    prepare: [`${bin}/initdb`, '-D', folder, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-sync'],
    run: [
      '-D',
      folder,
      '-p',
      String(port),
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      `unix_socket_directories=${folder}`,
    ],
    user: 'postgres',
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
  }
}

function postgresFolder(): string {
  const all = '/usr/lib/postgresql'
  const newest = existsSync(all) ? readdirSync(all).toSorted((a, b) => Number(b) - Number(a))[0] : undefined
  return `${all}/${newest}/bin`
}

/** Neither server runs as root: a spec that runs as root uses the server's own user. */
function asUser(user: string, folders: string[]): string[] {
  if (process.getuid?.() !== 0) return []
  const id = (flag: string): string => spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout.trim()
  for (const folder of folders) chownSync(folder, Number(id('-u')), Number(id('-g')))
  return ['setpriv', `--reuid=${user}`, `--regid=${id('-g')}`, '--init-groups']
}

/** Whether the server runs statements: it accepts connections earlier, while it is still starting. */
async function accepts(url: string): Promise<boolean> {
  const database = new Database({ server: { url, acquireTimeout: 3000 } }, 'server')
  try {
    await database.open()
    return true
  } catch {
    return false
  } finally {
    await database.close()
  }
}
