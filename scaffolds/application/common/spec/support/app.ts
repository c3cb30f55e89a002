import { testApplication } from 'resource-kit/testing'
import { app } from '../../src/app.js'
import { database } from '../../src/database.js'

/**
 * The application under test. `client` visits it, `factory` makes the records that a test needs, and `isolate()`, called
 * first in a `describe`, undoes what each of its tests writes.
 */
export const { client, factory, isolate, hooks } = testApplication(app, database)
