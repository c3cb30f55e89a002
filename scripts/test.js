// Runs all specs on SQLite, and those that depend on the engine (.mocharc.servers.yml) on PostgreSQL and MariaDB, where a
// server is there.
import 'reflect-metadata'
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { serverUrl } from '../dist/spec/support/engine.js'
import { Database } from '../dist/src/index.js'

const servers = {
  postgres: { title: 'PostgreSQL', variable: 'KIT_POSTGRES_URL' },
  mariadb: { title: 'MariaDB', variable: 'KIT_MARIADB_URL' },
}
const options = process.argv.slice(2)
const mustRunAll = Boolean(process.env.KIT_REQUIRE_ALL)
// Many specs wait for other processes: one more than there are cores keeps all of them busy.
const jobs = String(availableParallelism() + 1)
const start = performance.now()

let hasPassed = run('sqlite', 'SQLite', '.mocharc.json')
for (const [engine, { title, variable }] of Object.entries(servers)) {
  const problem = await problemOf(serverUrl(engine))
  if (!problem) hasPassed = run(engine, title, '.mocharc.servers.yml') && hasPassed
  else if (mustRunAll) hasPassed = fail(`The specs on ${title} must run. ${problem}`)
  else console.log(`Left out: the specs on ${title}. ${problem} Set ${variable} to use another server.`)
}
console.log(`\nAll specs took ${Math.round((performance.now() - start) / 1000)} seconds.`)
process.exitCode = hasPassed ? 0 : 1

function run(engine, title, config) {
  console.log(`\nOn ${title}:`)
  const mocha = fileURLToPath(new URL('../node_modules/mocha/bin/mocha.js', import.meta.url))
  const { status } = spawnSync(process.execPath, [mocha, '--config', config, '--jobs', jobs, ...options], {
    stdio: 'inherit',
    env: { ...process.env, KIT_ENGINE: engine },
  })
  return status === 0
}

/** The reason why the specs cannot use a server; undefined when they can. */
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
