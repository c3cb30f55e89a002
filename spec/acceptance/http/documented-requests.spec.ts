import { expect } from 'chai'
import * as fc from 'fast-check'
import { buildDocument, documentsOf, type OpenApiDocument } from '../../../src/openapi/document.js'
import { testApplication, type TestApplication } from '../../../src/testing/index.js'
import {
  Book,
  Chapter,
  documentedApplication,
  Setting,
  Shelf,
  Tag,
} from '../../support/applications/documented.js'
import { Thing } from '../../support/applications/everything.js'

// oxlint-disable-next-line no-explicit-any
type Any = any

/** The requests for each operation. `.ci/run` sends more. */
const count = Number(process.env['KIT_OPENAPI'] ?? 4)

describe('Requests that are made from an OpenAPI document', function () {
  let tested: TestApplication
  let document: OpenApiDocument
  let ids: Record<string, string>

  before(async () => {
    const { app, database } = await documentedApplication()
    // Undocumented properties and statuses reject a request of the client.
    tested = testApplication(app, database, { contract: true })
    await tested.hooks.beforeAll()
    const [declared] = documentsOf(app.declarations, { title: 'A', version: '1' })
    document = buildDocument(app.declarations, declared!).document
    const { factory } = tested
    const shelf = await factory.make(Shelf, { name: 'shelf', floor: 2 })
    const book = await factory.make(Book, { shelf_id: shelf.id, title: 'title', contact: 'a@example.com' })
    const chapter: Chapter = await factory.make(Chapter, { book_id: book.id })
    const [tag, thing] = [await factory.make(Tag), await factory.make(Thing)]
    await factory.make(Setting)
    ids = {
      shelf_id: shelf.id,
      book_id: book.id,
      chapter_id: chapter.id,
      tag_id: tag.id,
      sign_id: tag.id,
      thing_id: thing.id,
    }
  })

  after(() => tested.hooks.afterAll())

  const seed = Number(process.env['KIT_FUZZ_SEED'] ?? Date.now() % 1_000_000)

  /** The operations that can be requested here, one for each method and path. */
  const operations = (): [method: string, path: string, operation: Any][] =>
    Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, operation]): [string, string, Any][] =>
        method === 'delete' || 'servers' in operation ? [] : [[method.toUpperCase(), path, operation]],
      ),
    )

  const urlOf = (path: string) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'a')

  it('and are valid, return neither 5xx nor an error of a type', async () => {
    for (const [method, path, operation] of operations()) {
      const body = operation.requestBody?.content['application/json']?.schema
      const query: Any[] = (operation.parameters ?? []).filter(
        (one: Any) => one.in === 'query' && !/after|before/.test(one.name),
      )
      const requests = fc.record({
        json: body ? valuesOf(body, document) : fc.constant(undefined),
        query: fc.record(Object.fromEntries(query.map((one) => [one.name, valuesOf(one.schema, document)])), {
          requiredKeys: [],
        }),
      })
      for (const request of fc.sample(requests, { numRuns: count, seed })) {
        const search = new URLSearchParams(
          Object.entries(request.query).map(([name, value]): [string, string] => [name, String(value)]),
        )
        const response = await tested.client.request(method, `${urlOf(path)}?${search}`, {
          accept: 'json',
          ...(request.json !== undefined && { json: request.json }),
        })
        const what = `seed ${seed}: ${method} ${path} ${JSON.stringify(request)} ${response.text}`
        expect(response.status, what).to.be.below(500)
        if (response.status >= 400 && response.text !== '')
          expect(JSON.stringify(response.json.codes ?? {}), what).to.not.include('"type.')
      }
    }
  })

  it('and break one rule, return 422 for this field', async () => {
    for (const [method, path, operation] of operations()) {
      const reference = operation.requestBody?.content['application/json']?.schema
      if (!reference) continue
      const schema = resolve(reference, document)
      const [valid] = fc.sample(valuesOf(reference, document), { numRuns: 1, seed }) as Record<
        string,
        unknown
      >[]
      const missing: string[] = schema.required ?? []
      const changes = Object.entries(schema.properties as Record<string, Any>).flatMap(([name, property]) =>
        brokenValues(property).map((value): [string, unknown] => [name, value]),
      )
      for (const [name, value] of [
        ...changes,
        ...missing.map((one): [string, unknown] => [one, undefined]),
      ]) {
        const response = await tested.client.request(method, urlOf(path), {
          json: { ...valid, [name]: value },
          accept: 'json',
        })
        const what = `seed ${seed}: ${method} ${path} ${name}=${JSON.stringify(value)} ${response.text}`
        expect(response.status, what).to.equal(422)
        expect(response.json.errors, what).to.have.property(name)
      }
    }
  })
})

function resolve(schema: Any, document: OpenApiDocument): Any {
  return '$ref' in schema ? document.components.schemas[schema.$ref.split('/').at(-1)] : schema
}

/** Values that a schema allows. */
function valuesOf(given: Any, document: OpenApiDocument): fc.Arbitrary<unknown> {
  const schema = resolve(given, document)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const types: string[] = [schema.type ?? 'any'].flat()
  return fc.oneof(...types.map((type) => valuesOfType(type, schema, document)))
}

function valuesOfType(type: string, schema: Any, document: OpenApiDocument): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000 })
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e30, max: 1e30 })
    case 'array':
      return fc.uniqueArray(valuesOf(schema.items, document), {
        maxLength: Math.min(schema.maxItems ?? 3, 3),
        selector: (one) => String(one).replace('-', ''),
      })
    case 'object': {
      const properties = Object.entries(schema.properties).map(([name, one]) => [
        name,
        valuesOf(one, document),
      ])
      return fc.record(Object.fromEntries(properties), { requiredKeys: schema.required ?? [] })
    }
    case 'string':
      return stringsOf(schema)
    default:
      return fc
        .jsonValue({ maxDepth: 2, noUnicodeString: true } as object)
        .filter((value) => value !== null && !JSON.stringify(value).includes('\\u'))
  }
}

function stringsOf(schema: Any): fc.Arbitrary<string> {
  const { format, pattern, minLength = 0, maxLength = 60 } = schema
  // MariaDB's `uuid` rejects some UUIDs of version 8.
  if (format === 'uuid') return fc.uuid({ version: [1, 2, 3, 4, 5, 6, 7] })
  if (format === 'email') return fc.emailAddress()
  const days = fc.date({
    min: new Date('1971-01-01T00:00:00Z'),
    max: new Date('2037-01-01T00:00:00Z'),
    noInvalidDate: true,
  })
  if (format === 'date-time') return days.map((date) => date.toISOString())
  if (format === 'date') return days.map((date) => date.toISOString().slice(0, 10))
  if (pattern && pattern !== '\\S')
    return fc.stringMatching(new RegExp(pattern)).filter((text) => inInt64(pattern, text))
  const strings = fc.string({ minLength, maxLength: Math.min(maxLength, 60), unit: 'grapheme-ascii' })
  return pattern ? strings.filter((text) => /\S/.test(text)) : strings
}

/** The pattern of a bigint has all numbers of 19 digits, of which the largest ones are too large. */
function inInt64(pattern: string, text: string): boolean {
  return !pattern.includes('{1,19}') || BigInt.asIntN(64, BigInt(text)) === BigInt(text)
}

/** Values that break one rule of a schema each. */
function brokenValues(schema: Any): unknown[] {
  const types: string[] = [schema.type ?? []].flat()
  if (types.length === 0) return []
  const wrong = types.includes('array') ? 'x' : { wrong: true }
  return [
    wrong,
    ...(types.includes('null') ? [] : [null]),
    ...(schema.enum ? ['nothing'] : []),
    ...(schema.maxLength ? ['x'.repeat(schema.maxLength + 1)] : []),
    ...(schema.minLength ? ['x'.repeat(schema.minLength - 1)] : []),
    ...(schema.minimum === undefined ? [] : [schema.minimum - 1]),
    ...(schema.maximum === undefined ? [] : [schema.maximum + 1]),
    ...(schema.pattern === '\\S' ? [' '] : []),
    ...(schema.pattern && schema.pattern !== '\\S' ? ['x'] : []),
    ...(schema.format && types.includes('string') ? ['x'] : []),
  ]
}
