import type { App } from '../application.js'
import type { Database } from '../data/database.js'
import { dropDatabase, openOrCreate } from '../data/engines/create-drop.js'
import { Client, type ClientOptions } from './client.js'
import { Factory } from './factory.js'
import { Isolation } from './isolation.js'

/** An application under test. */
export interface TestApplication {
  /** Visits the application. */
  client: Client
  /** Makes records that a test needs. */
  factory: Factory
  /** Keeps the tests of one `describe` apart: called first in it, it undoes what each of them writes. */
  isolate(): void
  /** The root hooks of mocha: the application listens, on a database that is there and migrated. */
  hooks: { beforeAll(): Promise<void>; afterAll(): Promise<void> }
}

/**
 * Puts an application under test.
 *
 * @example
 * export const { client, factory, isolate, hooks } = testApplication(app, database)
 */
export function testApplication(app: App, database: Database, options: ClientOptions = {}): TestApplication {
  const client = new Client(app, options)
  const isolation = new Isolation(database)
  return {
    client,
    factory: new Factory(database),
    isolate: () => isolate(isolation, client),
    hooks: {
      async beforeAll() {
        await openOrCreate(database)
        if (app.env === 'test') await dropOutdated(database)
        await database.migrate()
        await client.open()
      },
      async afterAll() {
        await client.close()
        await database.close()
      },
    },
  }
}

/** Makes a test database anew when migrations have been run on it whose files are gone, such as those of another branch. */
async function dropOutdated(database: Database): Promise<void> {
  const states = await database.migrationStatus()
  if (!states.some(({ missing }) => missing)) return
  await dropDatabase(database)
  await openOrCreate(database)
}

/** What mocha calls around tests, as it declares them for the whole process. */
type Hook = (work: () => unknown) => void
type Hooks = Record<'before' | 'beforeEach' | 'afterEach' | 'after', Hook>

/** What is made in a `before` of the `describe` lasts for all of its tests, what a test makes for that test. */
function isolate(isolation: Isolation, client: Client): void {
  const { before, beforeEach, afterEach, after } = globalThis as unknown as Hooks
  before(() => isolation.begin())
  beforeEach(async () => {
    client.forget()
    await isolation.mark()
  })
  afterEach(() => isolation.undo())
  after(() => isolation.end())
}
