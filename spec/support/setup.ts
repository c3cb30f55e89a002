import 'reflect-metadata'

process.env['GO_ENV'] ??= 'test'
// The specs that read a log have one of their own.
process.env['LOG_LEVEL'] ??= 'silent'

export { mochaGlobalSetup, mochaGlobalTeardown, mochaHooks } from './engine.js'
