import { testApplication } from 'resource-kit/testing'
import { app } from '../../src/app.js'
import { database } from '../../src/database.js'

/**
 * The application under test. `client` sends requests and `factory` creates records. Call `isolate()` first in a
 * `describe` to undo the changes of each test. `provide()` replaces a dependency until the end of a test.
 */
export const { client, factory, isolate, provide, hooks } = testApplication(app, database, { contract: true })
