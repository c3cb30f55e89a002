import { testApplication } from 'resource-kit/testing'
import { app } from '../../src/app.js'
import { database } from '../../src/database.js'

/**
 * The application under test. `client` sends requests and `factory` creates records. Call `isolate()` first in a
 * `describe` to undo the changes of each test.
 */
export const { client, factory, isolate, hooks } = testApplication(app, database)
