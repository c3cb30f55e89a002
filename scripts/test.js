// Runs all specs on SQLite, and those that use a database on PostgreSQL and MariaDB once more, where a server answers.
import 'reflect-metadata'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { serverUrl } from '../dist/spec/support/engine.js'
import { Database } from '../dist/src/index.js'

const servers = {
  postgres: { title: 'PostgreSQL', variable: 'KIT_POSTGRES_URL' },
  mariadb: { title: 'MariaDB', variable: 'KIT_MARIADB_URL' },
}
const options = process.argv.slice(2)
const isEverythingThere = Boolean(process.env.KIT_REQUIRE_ALL)

let hasPassed = run('sqlite', 'SQLite', '.mocharc.json')
for (const [engine, { title, variable }] of Object.entries(servers)) {
  const problem = await problemOf(serverUrl(engine))
  if (!problem) hasPassed = run(engine, title, '.mocharc.servers.json') && hasPassed
  else if (isEverythingThere) hasPassed = fail(`The specs on ${title} must run. ${problem}`)
  else console.log(`Left out: the specs on ${title}. ${problem} ${variable} names another server.`)
}
process.exitCode = hasPassed ? 0 : 1

function run(engine, title, config) {
  console.log(`\nOn ${title}:`)
  const mocha = fileURLToPath(new URL('../node_modules/mocha/bin/mocha.js', import.meta.url))
  const { status } = spawnSync(process.execPath, [mocha, '--config', config, ...options], {
    stdio: 'inherit',
    env: { ...process.env, KIT_ENGINE: engine },
  })
  return status === 0
}

/** Why the specs cannot use a server; undefined when they can. */
async function problemOf(url) {
  delete process.env.DATABASE_URL
  const database = new Database({ server: { url, acquireTimeout: 3000 } }, 'server')
  try {
    await database.open()
    return undefined
  } catch (error) {
    return error.message
  } finally {
    await database.close()
  }
}

function fail(sentence) {
  console.error(sentence)
  return false
}
