import type { Model } from '../../models/model.js'
import type { Client } from '../client.js'
import { Refused } from './actors.js'
import { checks, type Declare } from './checks.js'
import type { ResourceDescription } from './description.js'
import { TestedResource } from './tested-resource.js'

/** The functions that mocha declares for the whole process. */
interface Mocha {
  describe(title: string, declare: () => void): void
  before(prepare: () => Promise<void>): void
  it: Declare
}

/**
 * Declares tests of the handlers of a resource: their statuses, pages, forms, messages and errors, in each format. Call it in a
 * `describe` with `isolate()`.
 *
 * @example
 * describeResource(client, {
 *   name: 'post',
 *   path: '/posts',
 *   make: (values: Partial<Post>) => factory.make(Post, values),
 *   values: { title: 'First' },
 *   changes: { title: 'Second' },
 *   required: ['title'],
 * })
 *
 * @param client the client of the application, which a `before` has signed in if the resource needs it
 */
export function describeResource<R extends Model>(client: Client, description: ResourceDescription<R>): void {
  const { describe, before, it } = globalThis as unknown as Mocha
  // The tests treat a record as any model.
  const resource = new TestedResource(client, description as unknown as ResourceDescription<Model>)
  describe('handlers', () => {
    before(() => resource.prepare())
    const declare: Declare = (title, test) =>
      it(title, async function () {
        resource.begin()
        await test.call(this).catch((error: unknown) => {
          if (!(error instanceof Refused)) throw error
        })
      })
    for (const check of checks) check(resource, declare)
  })
}
