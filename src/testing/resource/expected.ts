import { AssertionError } from 'node:assert'
import { isDeepStrictEqual } from 'node:util'
import type { ClientResponse } from '../client.js'

/** The demands on a response. */
export interface Expected {
  status?: number
  /** The target of a redirect, or the path of a created record. */
  location?: string
  contains?: string
  lacks?: string
  /** Members of a record in JSON. */
  members?: object
  /** The names of errors in JSON. */
  errors?: readonly string[]
  /** The ids of a list in JSON, in their order. */
  ids?: readonly string[]
}

/**
 * Checks a response.
 *
 * @param request what was sent, with the handler and the format: `create as JSON (POST /posts)`
 * @throws AssertionError whose message contains the request, and what was expected
 */
export function check(request: string, response: ClientResponse, expected: Expected): void {
  const { status, location, text } = response
  const { contains = '', lacks, members = {}, errors = [], ids } = expected
  const fail = (problem: string, values: object = {}) => {
    throw new AssertionError({ message: `${request}: ${problem}. The body is: ${excerpt(text)}`, ...values })
  }
  const compare = (what: string, actual: unknown, wanted: unknown) => {
    if (wanted === undefined || isDeepStrictEqual(actual, wanted)) return
    const problem = `${what} is ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`
    fail(problem, { actual, expected: wanted })
  }
  compare('the status', status, expected.status)
  compare('the Location header', location, expected.location)
  if (!text.includes(contains)) fail(`the body does not contain ${JSON.stringify(contains)}`)
  if (lacks !== undefined && text.includes(lacks))
    fail(`the body contains ${JSON.stringify(lacks)}, which it must not`)
  for (const [name, value] of Object.entries(members))
    compare(`"${name}"`, givenOf(response.json[name], value), value)
  for (const name of errors)
    if (!(name in Object(response.json.errors))) fail(`there is no error of "${name}"`)
  if (ids)
    compare(
      'the list of ids',
      (response.json as { id: string }[]).map(({ id }) => id),
      ids,
    )
}

/** The members of each line of a list that are wanted. Other values are as they are. */
function givenOf(actual: unknown, wanted: unknown): unknown {
  if (!Array.isArray(actual) || !Array.isArray(wanted) || !wanted.every(isObject)) return actual
  return actual.map((line: object, index) => {
    const names = Object.keys(Object(wanted[index]))
    return Object.fromEntries(names.map((name): [string, unknown] => [name, Reflect.get(line, name)]))
  })
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** The beginning of a body. Only the text of a page. */
function excerpt(body: string): string {
  const text = body.replace(/^<!DOCTYPE html>.*?<body.*?>/s, '')
  const plain = text === body ? body : text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
  return plain.length > 400 ? `${plain.slice(0, 400)} ...` : plain
}
