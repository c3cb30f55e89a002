import type { TreeResource } from './random-trees.js'

/**
 * Specs of a generated application, for its folder dist/spec. One user has two worlds of records, and another user a third one:
 * in each world are a record of each resource and the records that it refers to. No response to the first user may have anything of
 * the other one, and a reference across users, or across parents, gets the response to an unknown id.
 */
export function walkOfTrees(resources: readonly TreeResource[]): string {
  const facts = JSON.stringify(resources, (key, value: unknown) =>
    key === 'names' || key === 'options' ? undefined : value,
  )
  return `const RESOURCES = ${facts}\n${WALK}`
}

const WALK = String.raw`
import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import { database } from '../src/database.js'
import { client, factory, isolate } from './support/app.js'
import { makeUser, signIn } from './support/users.js'

const classOf = (model) => database.getMetadata(model).target
const byModel = new Map(RESOURCES.map((resource) => [resource.model, resource]))
const keyOf = (model) => byModel.get(model).singular + '_id'
const unknown = randomUUID()

describe('The trees', () => {
  isolate()
  /** The ids of the records of each world, by their models. */
  const worlds = { own: {}, second: {}, foreign: {} }
  let foreignIds

  before(async () => {
    const [user, other] = [await makeUser(), await makeUser()]
    await makeWorld('own', user)
    await makeWorld('second', user)
    await makeWorld('foreign', other)
    foreignIds = RESOURCES.filter(({ isPrivate }) => isPrivate).map(({ model }) => worlds.foreign[model])
    await signIn(client, user)
    await client.get('/')
  })

  async function makeWorld(world, { id }) {
    worlds[world].user = id
    for (const resource of RESOURCES) {
      // A user has one record of a singular resource.
      const isThere = world === 'second' && resource.isSingular
      worlds[world][resource.model] = isThere ? worlds.own[resource.model] : (await make(resource, world, id)).id
    }
  }

  function make(resource, world, user_id) {
    const { lines = [], ...values } = valuesOf(resource, world)
    return factory.make(classOf(resource.model), {
      ...values,
      ...(resource.lines && { lines: lines.map((line) => Object.assign(new (classOf(resource.model + 'Line'))(), line)) }),
      ...(resource.parent && { [keyOf(resource.parent)]: worlds[world][resource.parent] }),
      ...(resource.isOwned && { user_id }),
    })
  }

  /** The attributes of a record whose references are inside of a world. */
  function valuesOf(resource, world, title = textOf(resource, world)) {
    const idsOf = (references) =>
      references.map(({ name, target, isList }) => [name, isList ? [worlds[world][target]] : worlds[world][target]])
    const lines = resource.lines && [{ title, ...Object.fromEntries(idsOf(resource.lines)) }]
    const unique = resource.unique ? { [resource.unique]: title } : {}
    return { title, ...unique, ...Object.fromEntries(idsOf(resource.references)), ...(lines && { lines }) }
  }

  const textOf = ({ model, isPrivate }, world) => (isPrivate ? 'planted-' + world : 'public') + '-' + model

  /** The path of a resource, with the ids of its parents from a world. */
  const listOf = ({ path }, world) =>
    path.replaceAll(/\{(\w+)_id\}/g, (_, name) => worlds[world][parentNamed(name).model])
  const itemOf = (resource, world, id = worlds[world][resource.model]) =>
    resource.isSingular ? listOf(resource, world) : listOf(resource, world) + '/' + id
  const parentNamed = (name) => RESOURCES.find(({ param, singular }) => param === name + '_id' || singular === name)
  const formats = ({ isApi }) => (isApi ? ['json', 'xml'] : ['html', 'json', 'xml'])
  /** A text without what differs in each page. */
  const plain = (text, id) =>
    text
      .replaceAll(id, 'ID')
      .replaceAll(/(name="authenticity_token"[^>]* value=")[^"]*/g, '$1')
      .replaceAll(/(request_id\W+)[\w-]+/g, '$1')

  /** Where a text begins to differ from another one; empty if they are equal. */
  function difference(text, other) {
    const start = [...text].findIndex((character, index) => character !== other[index])
    return text === other ? '' : text.slice(start - 60, start + 60) + ' | ' + other.slice(start - 60, start + 60)
  }

  /** Returns the ids and texts of the other user in a response to the first one. */
  function leaks(label, { text }, ids = foreignIds) {
    return [...ids, 'planted-foreign'].filter((one) => text.includes(one)).map((one) => label + ' has ' + one)
  }

  for (const resource of RESOURCES.filter(({ isPrivate }) => isPrivate)) describe(resource.model, () => {
    const { references, isSingular, isApi, lines } = resource
    const all = [...references, ...(lines ?? []).map((one) => ({ ...one, isOfLine: true }))]
    /** The paths of its pages. */
    const pages = (world) => [
      ...(isSingular ? [] : [listOf(resource, world)]),
      itemOf(resource, world),
      ...(isApi ? [] : [...(isSingular ? [] : [listOf(resource, world) + '/new']), itemOf(resource, world) + '/edit']),
    ]
    const isForm = (path) => /\/(new|edit)$/.test(path)

    /** The path of a list with an included relation, if it has one. */
    function* included(path) {
      if (path !== listOf(resource, 'own') || isSingular) return
      for (const { name, property } of references) if (resource.filters.includes(name)) yield path + '?include=' + property
    }

    it('shows nothing of another user', async () => {
      const found = []
      for (const path of pages('own')) {
        for (const accept of isForm(path) ? ['html'] : formats(resource)) {
          for (const url of [path, ...(accept === 'html' ? [] : included(path))]) {
            const response = await client.get(url, { accept })
            expect(response.status, url + response.text).to.equal(200)
            found.push(...leaks(url + ' as ' + accept, response))
            if (!isForm(url)) expect(response.text, url).to.include('planted-own')
          }
        }
      }
      expect(found.join('; ')).to.equal('')
    })

    it('offers the records of its own parents', async () => {
      for (const path of isApi ? [] : pages('own').filter(isForm)) {
        const { text } = await client.get(path)
        for (const reference of all) {
          expect(text, path).to.include('value="' + worlds.own[reference.target] + '"')
          if (mustBeInside(reference)) expect(text, path).to.not.include('value="' + worlds.second[reference.target] + '"')
        }
      }
    })

    if (!isSingular) {
      it('is not found below a record of another user, or below another parent', async () => {
        const id = worlds.foreign[resource.model]
        const paths = [itemOf(resource, 'own', id)]
        if (resource.parent) paths.push(itemOf(resource, 'foreign', worlds.own[resource.model]), itemOf(resource, 'foreign'))
        for (const accept of ['json', 'xml']) for (const path of paths) {
          const responses = [
            await client.get(path, { accept }),
            await client.put(path, { json: { title: 'changed' }, accept }),
            await client.patch(path, { json: { title: 'changed' }, accept }),
            await client.delete(path, { accept }),
          ]
          expect(responses.map(({ status }) => status), path).to.deep.equal([404, 404, 404, 404])
          expect(responses.flatMap((response) => leaks(path, response, []))).to.deep.equal([])
        }
        if (!byModel.get(resource.parent)?.isPrivate) return
        const list = listOf(resource, 'foreign')
        const sent = await client.post(list, { json: valuesOf(resource, 'foreign', 'new'), accept: 'json' })
        expect([(await client.get(list, { accept: 'json' })).status, sent.status]).to.deep.equal([404, 404])
      })

      it('filters by nothing of another user', async () => {
        const path = listOf(resource, 'own')
        for (const name of resource.filters) {
          const { target } = references.find((one) => one.name === name)
          if (!byModel.get(target).isPrivate) continue
          for (const accept of formats(resource)) {
            const responses = []
            for (const id of [worlds.foreign[target], unknown])
              responses.push(plain((await client.get(path + '?' + name + '=' + id, { accept })).text, id))
            expect(difference(responses[0], responses[1]), path).to.equal('')
          }
        }
        if (!resource.isSearched) return
        const found = await client.get(path + '?search=planted-foreign', { accept: 'json' })
        expect([found.status, found.json]).to.deep.equal([200, []])
      })
    }

    if (resource.unique) {
      it('has values that are unique within its parent or owner', async () => {
        const path = listOf(resource, 'own')
        const create = (value) =>
          client.post(path, { json: { ...valuesOf(resource, 'own', 'new'), [resource.unique]: value }, accept: 'json' })
        expect((await create(textOf(resource, 'foreign'))).status).to.equal(201)
        const taken = await create(textOf(resource, 'own'))
        expect([taken.status, Object.keys(taken.json.errors)]).to.deep.equal([409, [resource.unique]])
      })
    }

    /** Whether a reference must stay inside of a parent: above the other record is this one, or one above this one. */
    const mustBeInside = ({ target }) => {
      const own = [resource.model, ...resource.above]
      return byModel.get(target).above.some((one) => own.includes(one))
    }

    for (const reference of all) {
      const { name, target, isList, isOfLine } = reference
      const forbidden = [
        ...(byModel.get(target).isPrivate ? ['foreign'] : []),
        ...(mustBeInside(reference) && !isSingular ? ['second'] : []),
      ]
      if (forbidden.length === 0) continue
      it('refers to no ' + target + ' of others by ' + name + (isOfLine ? ' of a line' : ''), async () => {
        const wrong = []
        for (const [method, format] of requests()) {
          await makeRoom(method)
          const send = async (id) => {
            await makeRoom(method)
            const rest = method === 'POST' ? valuesOf(resource, 'own', 'a title') : {}
            const value = isList ? [worlds.own[target], id] : id
            const line = () => ({ ...valuesOf(resource, 'own').lines[0], [name]: id })
          return sendAs(method, format, { ...rest, ...(isOfLine ? { lines: [line()] } : { [name]: value }) })
          }
          const missing = await send(unknown)
          expect(missing.status, method + format + missing.text).to.equal(422)
          for (const world of forbidden) {
            const id = worlds[world][target]
            const { status, text } = await send(id)
            const differs = status === 422 ? difference(plain(text, id), plain(missing.text, unknown)) : status
            if (differs) wrong.push([method, format, world, differs].join(' '))
          }
        }
        expect(wrong.join('; ')).to.equal('')
      })

      it('shows nothing of a ' + target + ' of another user that is stored in ' + name + (isOfLine ? ' of a line' : ''), async () => {
        const id = worlds.foreign[target]
        if (!byModel.get(target).isPrivate) return
        const of = worlds.own[resource.model]
        if (isOfLine) await database.manager.update(resource.model + 'Line', { [keyOf(resource.model)]: of }, { [name]: id })
        else if (isList) await database.createQueryBuilder().relation(resource.model, reference.property).of(of).add(id)
        else await database.manager.update(resource.model, of, { [name]: id })
        for (const path of pages('own')) {
          for (const accept of isForm(path) ? ['html'] : formats(resource)) {
            for (const url of [path, ...(accept === 'html' ? [] : included(path))]) {
              const response = await client.get(url, { accept })
              expect(response.status, url + response.text).to.equal(200)
              expect(response.text, url + accept).to.not.include('planted-foreign')
            }
          }
        }
        const title = { title: 'changed' }
        const { status, text } = await client.patch(itemOf(resource, 'own'), { json: title, accept: 'json' })
        expect(status, text).to.equal(200)
      })
    }

    if (lines) it('changes no line of another record', async () => {
      const line = valuesOf(resource, 'own').lines[0]
      const where = (world) => ({ [keyOf(resource.model)]: worlds[world][resource.model] })
      const linesOf = (world) => database.manager.findBy(resource.model + 'Line', where(world))
      const wrong = []
      for (const [method, format] of requests().filter(([method]) => method !== 'POST')) {
        const send = (id) => sendAs(method, format, { lines: [{ ...line, id }] })
        const missing = await send(unknown)
        expect(missing.status, method + format + missing.text).to.equal(422)
        for (const world of isSingular ? ['foreign'] : ['foreign', 'second']) {
          const before = await linesOf(world)
          const { status, text } = await send(before[0].id)
          const differs = status === 422 ? difference(plain(text, before[0].id), plain(missing.text, unknown)) : status
          if (differs) wrong.push([method, format, world, differs].join(' '))
          expect(await linesOf(world)).to.deep.equal(before)
        }
      }
      expect(wrong.join('; ')).to.equal('')
    })

    it('is created and changed with the records of its parents', async () => {
      for (const [method, format] of requests()) {
        await makeRoom(method)
        const title = method + ' as ' + format
        const values = valuesOf(resource, 'own', title)
        const { status, text } = await sendAs(method, format, values)
        expect(status, method + format + text).to.equal(format === 'html' ? 303 : method === 'POST' ? 201 : 200)
      }
    })

    /** The requests that change records, as each format. A form sends PUT only, and a singular resource is created last. */
    function requests() {
      const all = ['PUT', 'PATCH', 'POST'].flatMap((method) => formats(resource).map((format) => [method, format]))
      return all.filter(([method, format]) => method !== 'PATCH' || format !== 'html')
    }

    /** Deletes the record of a singular resource before another one is created. */
    async function makeRoom(method) {
      if (isSingular && method === 'POST') await database.manager.delete(resource.model, { user_id: worlds.own.user })
    }

    /** Sends values in a format. */
    async function sendAs(method, accept, values) {
      const path = method === 'POST' ? listOf(resource, 'own') : itemOf(resource, 'own')
      if (accept === 'json') return client.request(method, path, { accept, json: values })
      if (accept === 'xml') return client.request(method, path, { accept, xml: { [resource.singular]: values } })
      await client.get('/')
      const { lines: rows = [], ...others } = values
      const fields = rows.flatMap((row, index) => Object.entries(row).map(([name, value]) => ['lines[' + index + '][' + name + ']', value]))
      return client.post(path, { form: { ...others, ...Object.fromEntries(fields), _method: method } })
    }
  })
})
`
