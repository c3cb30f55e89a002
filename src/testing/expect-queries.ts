import { AssertionError } from 'node:assert'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { channels } from '../common/channels.js'
import type { StatementMessage } from '../data/queries/publish.js'

/**
 * Checks the number of queries that the process runs while some work runs.
 *
 * @example const response = await expectQueries(2, () => client.get('/posts'))
 * @returns what the work returns
 * @throws AssertionError with each statement, its number and its place, when the number differs
 */
export async function expectQueries<T>(count: number, work: () => T | Promise<T>): Promise<T> {
  const statements: StatementMessage[] = []
  // The framework publishes these messages itself.
  const collect = (message: unknown): unknown => statements.push(message as StatementMessage)
  subscribe(channels.query.name, collect)
  const result = await (async () => work())().finally(() => unsubscribe(channels.query.name, collect))
  const queries = statements.filter(({ isQuery }) => isQuery)
  const actual = queries.length
  if (actual === count) return result
  const texts = queries.map(({ sql, place = 'an unknown place' }) => `at ${place}: ${sql}`)
  const lines = [...new Set(texts)].map((text) => `${texts.filter((it) => it === text).length} x ${text}`)
  const message = `Expected ${count} queries instead of ${actual}:\n${lines.join('\n') || 'none'}`
  throw new AssertionError({ message, actual, expected: count, operator: 'expectQueries' })
}
