// Checks the format of the files and runs the specs, side by side: all specs on SQLite, and those that depend on the engine
// (spec/suites/servers.yml) on PostgreSQL and MariaDB, where a server is there. Only SQLite's specs print while they run; the output
// of the others follows.
import 'reflect-metadata'
import { spawn } from 'node:child_process'
import { availableParallelism, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { serverUrl } from '../dist/spec/support/servers.js'
import { Database } from '../dist/src/index.js'

const servers = {
  postgres: { title: 'PostgreSQL', variable: 'KIT_POSTGRES_URL' },
  mariadb: { title: 'MariaDB', variable: 'KIT_MARIADB_URL' },
}
const options = process.argv.slice(2)
const mustRunAll = Boolean(process.env.KIT_REQUIRE_ALL)
const cores = availableParallelism()
const start = performance.now()
// The specs of a server run in few processes. If they had to share the cores, they would end last, and leave cores unused.
const waiting = { priority: 5 }

console.log('\nOn SQLite:')
// One process more than cores, because specs also wait for child processes and time limits.
const lanes = [specs('sqlite', '.mocharc.json', cores + 1, { ...waiting, stdio: 'inherit' }), format()]
const headings = ['', 'Files to format (`npm run format`):']
for (const [engine, { title, variable }] of Object.entries(servers)) {
  headings.push(`On ${title}:`)
  lanes.push(onServer(engine, title, variable))
}
let hasPassed = true
for (const [index, lane] of lanes.entries()) {
  const { output, passes } = await lane
  if (output) console.log(`\n${headings[index]}\n${output}`)
  hasPassed &&= passes
}
console.log(`All specs took ${Math.round((performance.now() - start) / 1000)} seconds.`)
process.exitCode = hasPassed ? 0 : 1

async function onServer(engine, title, variable) {
  const problem = await problemOf(engine)
  // Most of these specs wait for their server.
  if (!problem) return specs(engine, 'spec/suites/servers.yml', Math.max(1, Math.floor(cores / 2)))
  const output = mustRunAll
    ? `The specs on ${title} must run. ${problem}`
    : `Left out: the specs on ${title}. ${problem} Set ${variable} to use another server.`
  return { output, passes: !mustRunAll }
}

function specs(engine, config, jobs, settings) {
  const mocha = fileURLToPath(new URL('../node_modules/mocha/bin/mocha.js', import.meta.url))
  const args = ['--config', config, '--jobs', String(jobs), ...options]
  return run(process.execPath, [mocha, ...args], { variables: { KIT_ENGINE: engine }, ...settings })
}

function format() {
  return run('npm', ['run', '--silent', 'format:check'], waiting)
}

/** Runs a command. Returns what it has printed, and whether it has succeeded. */
function run(command, args, { variables = {}, stdio = 'pipe', priority }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env: { ...process.env, ...variables }, stdio })
    if (priority) setPriority(child.pid, priority)
    let output = ''
    const add = (text) => (output += text)
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', add)
    child.once('close', (code) => resolve({ output, passes: code === 0 }))
  })
}

/** The reason why the specs cannot use a server; undefined when they can. */
async function problemOf(engine) {
  delete process.env.DATABASE_URL
  const database = new Database({ server: { url: serverUrl(engine), acquireTimeout: 3000 } }, 'server')
  try {
    await database.open()
    return undefined
  } catch (error) {
    return error.message
  } finally {
    await database.close()
  }
}
