/**
 * Helpers for an application's specs.
 *
 * @module resource-kit/testing
 */

export { testApplication, type TestApplication, type TestOptions } from './test-application.js'
export type { Replacement } from '../injection/injector.js'
export {
  Client,
  type ClientResponse,
  type ClientOptions,
  type FormFields,
  type RequestOptions,
} from './client.js'
export { Factory, type Defaults, type ModelClass } from './factory.js'
export { sampleFile, type SampleFileOptions } from './sample-file.js'
export { expectQueries } from './expect-queries.js'
export { Isolation } from './isolation.js'
export { captureLog, type CapturedLog } from './capture-log.js'
