import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Database } from '../../../src/database/database.js'
import { newDatabase } from '../databases.js'

const blog = fileURLToPath(new URL('../../../../examples/blog/', import.meta.url))

/** A line of the application's log. */
export interface LogLine {
  msg: string
  status?: number
  level: number
}

/** examples/blog in its own process, on a free port, with its own database. */
export interface BlogProcess {
  url: string
  /** The lines that it has logged. */
  log: LogLine[]
  /** Its database, for changes that visitors cannot make. */
  database: Database
  /** Creates a post, and returns its path. */
  createPost(attributes: { title: string; description?: string }): Promise<string>
  /** Creates a record in this collection, and returns its path. */
  create(collection: string, attributes: Record<string, string>): Promise<string>
  stop(): Promise<void>
}

/** Starts examples/blog as `npm start` does, without its seeds. */
export async function startExampleBlog(environment: 'test' | 'development'): Promise<BlogProcess> {
  const databaseUrl = await newDatabase()
  const config = { test: { url: databaseUrl }, migrations: [`${blog}dist/migrations/*.js`] }
  const database = await new Database(config, 'test').open()
  await database.migrate()
  const server = spawn(process.execPath, ['dist/src/main.js'], {
    cwd: blog,
    env: {
      ...process.env,
      GO_ENV: environment,
      PORT: '0',
      LOG_LEVEL: 'info',
      DATABASE_URL: databaseUrl,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = (): boolean => server.kill()
  process.once('exit', stop)
  const ended = new Promise<void>((end) => server.once('exit', () => end()))
  const log: LogLine[] = []
  const url = await new Promise<string>((listening, fail) => {
    void ended.then(() => fail(new Error(`the blog did not start:\n${JSON.stringify(log, null, 2)}`)))
    createInterface(server.stdout).on('line', (text) => {
      const line: LogLine = JSON.parse(text)
      log.push(line)
      const [, address] = /^listening on (.*)/.exec(line.msg) ?? []
      if (address) listening(address)
    })
  })
  await database.query('DELETE FROM posts')

  async function create(collection: string, attributes: Record<string, string>): Promise<string> {
    const response = await fetch(url + collection, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify(attributes),
    })
    const path = response.headers.get('Location')
    if (!path) throw new Error(`${collection} returned ${response.status}: ${await response.text()}`)
    return path
  }

  return {
    url,
    log,
    database,
    create,
    createPost: (attributes) => create('/posts', attributes),
    async stop() {
      await database.close()
      process.off('exit', stop)
      stop()
      await ended
    },
  }
}
