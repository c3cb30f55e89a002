import 'reflect-metadata'
import { mochaHooks as databases } from './engine.js'
import { endPendingRuns } from './kit.js'
import { siteHooks } from './site.js'

process.env['GO_ENV'] ??= 'test'
// The specs that read a log have one of their own.
process.env['LOG_LEVEL'] ??= 'silent'
// The compiler is a short program in Go: it ends before collecting garbage pays off.
process.env['GOGC'] ??= 'off'

/** Mocha calls these around each spec, in each of its processes. */
export const mochaHooks = {
  ...databases,
  beforeEach: [databases.beforeEach, siteHooks.beforeEach],
  afterEach: [siteHooks.afterEach, databases.afterEach, endPendingRuns],
  afterAll: [databases.afterAll, endPendingRuns],
}

export { mochaGlobalSetup, mochaGlobalTeardown } from './engine.js'
