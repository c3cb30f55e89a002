import 'reflect-metadata'
import { join } from 'node:path'
import { chromiumAdvice, hasChromium } from './chromium.js'
import { mochaGlobalSetup as prepareDatabases, mochaHooks as databases } from './databases.js'
import { engine } from './engine.js'
import { endPendingRuns } from './kit.js'
import './processes/rarely-optimize.cjs'
import { siteHooks } from './site.js'

process.env['GO_ENV'] ??= 'test'
// The specs that read a log have one of their own.
process.env['LOG_LEVEL'] ??= 'silent'
// The compiler is a short program in Go: it ends before collecting garbage pays off.
process.env['GOGC'] ??= 'off'
const rarelyOptimize = join(import.meta.dirname, 'processes/rarely-optimize.cjs')
process.env['NODE_OPTIONS'] ??= `--require ${JSON.stringify(rarelyOptimize)}`

const folder = process.cwd()

/** The specs that follow read files by their paths in this folder. */
function checkFolder(): void {
  if (process.cwd() === folder) return
  process.chdir(folder)
  throw new Error('This spec, or a hook before it, has changed the working directory.')
}

/** Mocha calls these around each spec, in each of its processes. */
export const mochaHooks = {
  ...databases,
  beforeEach: [databases.beforeEach, siteHooks.beforeEach],
  afterEach: [siteHooks.afterEach, databases.afterEach, endPendingRuns, checkFolder],
  afterAll: [databases.afterAll, endPendingRuns],
}

/** Mocha calls this once, before it starts the processes that run the specs. The browser specs run on SQLite only. */
export async function mochaGlobalSetup(): Promise<void> {
  if (engine === 'sqlite' && !hasChromium && !process.env['KIT_REQUIRE_ALL'])
    console.log(`Left out: the browser specs, because Chromium is not installed. ${chromiumAdvice}`)
  await prepareDatabases()
}

export { mochaGlobalTeardown } from './databases.js'
