import { AssertionError } from 'node:assert'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { channels } from '../common/channels.js'
import type { StatementMessage } from '../database/queries/publish.js'

/**
 * Checks how many queries the process runs until the work has ended. Other statements, such as COMMIT, are not counted.
 *
 * @example const response = await expectQueries(2, () => client.get('/posts'))
 * @returns what the work returns
 * @throws AssertionError with each query, how often it ran and its place in the code, when the number differs
 */
export async function expectQueries<T>(count: number, work: () => T | Promise<T>): Promise<T> {
  const statements: StatementMessage[] = []
  // Only the framework publishes on this channel, so the type is right.
  const collect = (message: unknown): unknown => statements.push(message as StatementMessage)
  subscribe(channels.query.name, collect)
  // `async` turns an error that the work throws at once into a rejection.
  const result = await (async () => work())().finally(() => unsubscribe(channels.query.name, collect))
  const queries = statements.filter(({ isQuery }) => isQuery)
  const actual = queries.length
  if (actual === count) return result
  const texts = queries.map(({ sql, place = 'an unknown place' }) => `at ${place}: ${sql}`)
  const lines = [...new Set(texts)].map(
    (text) => `${texts.filter((other) => other === text).length} x ${text}`,
  )
  const message = `Expected ${count} queries instead of ${actual}:\n${lines.join('\n') || 'none'}`
  throw new AssertionError({ message, actual, expected: count, operator: 'expectQueries' })
}
