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
  type People,
  type RequestOptions,
} from './client.js'
export { Factory, type Defaults, type ModelClass } from './factory.js'
export { sampleFile, type SampleFileOptions } from './sample-file.js'
export { describeResource } from './resource/describe-resource.js'
export type { JsonValues, NestedDescription, ResourceDescription, RouteWord } from './resource/description.js'
export { describePolicy, signInFor } from './policies.js'
export { describeIsolation } from './team-isolation.js'
export { expectQueries } from './expect-queries.js'
export { Isolation } from './isolation.js'
export { brokenRules } from './broken-rules.js'
export { captureLog, type CapturedLog } from './capture-log.js'
