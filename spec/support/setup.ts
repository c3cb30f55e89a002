import 'reflect-metadata'

process.env['GO_ENV'] ??= 'test'

export { mochaGlobalSetup, mochaGlobalTeardown, mochaHooks } from './engine.js'
