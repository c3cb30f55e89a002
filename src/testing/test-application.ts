import type { App } from '../application.js'
import type { Database } from '../data/database.js'
import { dropDatabase, openOrCreate } from '../data/engines/create-drop.js'
import { Client, type ClientOptions } from './client.js'
import { Factory } from './factory.js'
import { Isolation } from './isolation.js'

/** An application under test. */
export interface TestApplication {
  /** Sends requests to the application. */
  client: Client
  /** Creates records. */
  factory: Factory
  /** Isolates the tests of a `describe`: call it first, and the changes of each test are undone. */
  isolate(): void
  /** The root hooks of mocha. They create and migrate the database, and start and stop the application. */
  hooks: { beforeAll(): Promise<void>; afterAll(): Promise<void> }
}

/**
 * Prepares an application for tests.
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

/** Re-creates a test database on which migrations were run whose files are missing, like those of another branch. */
async function dropOutdated(database: Database): Promise<void> {
  const states = await database.migrationStatus()
  if (!states.some(({ missing }) => missing)) return
  await dropDatabase(database)
  await openOrCreate(database)
}

/** The hooks that mocha declares for the whole process. */
type Hook = (work: () => unknown) => void
type Hooks = Record<'before' | 'beforeEach' | 'afterEach' | 'after', Hook>

/** Records created in a `before` of the `describe` last for all its tests. Those of a test last for that test. */
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
