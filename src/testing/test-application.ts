import type { InjectionToken } from 'tsyringe'
import type { App } from '../application/application.js'
import type { Database } from '../database/database.js'
import { dropDatabase, openOrCreate } from '../database/engines/create-drop.js'
import type { Injector, Replacement } from '../injection/injector.js'
import { filesOf } from '../models/attributes/attributes.js'
import { Client, type ClientOptions } from './client.js'
import { Factory } from './factory.js'
import { Isolation } from './isolation.js'

/** An application under test. */
export interface TestApplication {
  /** Sends requests to the application. */
  client: Client
  /** Creates records. */
  factory: Factory
  /**
   * Isolates the tests of a `describe`, in which you call it first: after each test, its changes of the database are undone, and
   * the client gets back the cookies and tokens that it had before the test.
   */
  isolate(): void
  /**
   * Replaces a dependency of resources and middleware classes until the end of the test. Call it in the test or in a
   * `beforeEach`. A singleton that depends on the token is created again for the test.
   *
   * @param value the replacement, which may lack members that the test does not use
   * @throws DeclarationError when nothing injects the token
   */
  provide<T>(token: InjectionToken<T>, value: Partial<NoInfer<T>>): void
  /**
   * The root hooks of mocha. They create and migrate the database, start and stop the application, and restore what a test
   * has replaced.
   */
  hooks: { beforeAll(): Promise<void>; afterEach(): Promise<void>; afterAll(): Promise<void> }
}

/** The options of `testApplication`. */
export interface TestOptions extends ClientOptions {
  /** Values that replace dependencies in all tests: `[[Mailer, fakeMailer]]`. */
  provide?: readonly Replacement[]
  /**
   * Whether a response that differs from the OpenAPI document rejects the request (no). It needs `ajv` and `ajv-formats`.
   */
  contract?: boolean
}

/**
 * Prepares an application for tests.
 *
 * @example
 * export const { client, factory, isolate, provide, hooks } = testApplication(app, database)
 */
export function testApplication(app: App, database: Database, options: TestOptions = {}): TestApplication {
  const client = new Client(app, options)
  const factory = new Factory(database, app)
  client.records = { database, factory }
  const isolation = new Isolation(database)
  const permanent = new Replacements(app.injector)
  const ofThisTest = new Replacements(app.injector)
  return {
    client,
    factory,
    isolate: () => isolate(isolation, client, () => removeFiles(app, database)),
    provide: (token, value) => ofThisTest.add([[token, value]]),
    hooks: {
      async beforeAll() {
        permanent.add(options.provide ?? [])
        await openOrCreate(database)
        // In another environment, the database can contain records that are still needed.
        if (app.env === 'test') await dropOutdated(database)
        await database.migrate()
        if (options.contract) client.contract ??= new (await import('../openapi/contract.js')).Contract(app)
        await client.open()
      },
      afterEach: () => ofThisTest.restore(),
      async afterAll() {
        await client.close()
        await database.close()
        await permanent.restore()
      },
    },
  }
}

/** Dependencies that tests have replaced, and that are restored together. */
class Replacements {
  private readonly restorations: Array<() => Promise<void>> = []

  constructor(private readonly injector: Injector) {}

  add(replacements: readonly Replacement[]): void {
    if (replacements.length > 0) this.restorations.push(this.injector.replace(replacements))
  }

  /** Restores the dependencies, the last replaced first. */
  async restore(): Promise<void> {
    for (const restore of this.restorations.splice(0).toReversed()) await restore()
  }
}

/** Creates a test database again if a migration that was run has been edited or is missing, for example on another branch. */
async function dropOutdated(database: Database): Promise<void> {
  const states = await database.migrationStatus()
  if (!states.some(({ missing, edited }) => missing || edited)) return
  await dropDatabase(database)
  await openOrCreate(database)
}

/** The hooks that mocha declares for the whole process. */
type Hook = (work: () => unknown) => void
type Hooks = Record<'before' | 'beforeEach' | 'afterEach' | 'after', Hook>

/**
 * Declares the hooks that isolate the tests of a `describe`. Records and sign-ins of a `before` exist in all its tests, and those
 * of a test only in this test.
 */
function isolate(isolation: Isolation, client: Client, undone: () => Promise<void>): void {
  const { before, beforeEach, afterEach, after } = globalThis as unknown as Hooks
  let restore: (() => void) | undefined
  before(async () => {
    client.forget()
    await isolation.begin()
  })
  beforeEach(async () => {
    restore = client.mark()
    await isolation.mark()
  })
  afterEach(async () => {
    restore?.()
    await isolation.undo()
    await undone()
  })
  after(async () => {
    await isolation.end()
    await undone()
  })
}

/** Removes the bytes of stored files whose rows were undone. */
async function removeFiles(app: App, { entityMetadatas }: Database): Promise<void> {
  const hasFiles = entityMetadatas.some(
    ({ target }) => typeof target === 'function' && filesOf(target).length > 0,
  )
  if (!hasFiles) return
  const { storedFiles } = await import('../files/index.js')
  await app.extension(storedFiles)?.internal.removeUndone()
}
