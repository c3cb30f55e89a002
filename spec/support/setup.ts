import 'reflect-metadata'

process.env['GO_ENV'] ??= 'test'

export { mochaHooks } from './engine.js'
