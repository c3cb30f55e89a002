import { FactoryError } from '../../errors.js'
import { newId } from '../../models/ids.js'
import { humanize } from '../../naming/words.js'
import type { RouteWord } from './description.js'
import { sampleFile } from '../sample-file.js'
import { check, type Expected } from './expected.js'
import { handlerOf, isRead, type Target, type Format, type TestedResource } from './tested-resource.js'

/** Declares a test. */
export type Declare = (title: string, test: (this: { skip(): void }) => Promise<unknown>) => void

/** Declares the tests of one subject, if the resource has it. */
type Check = (resource: TestedResource, it: Declare) => void

const visitors: Check = (resource, it) => {
  const { asVisitor } = resource.description
  if (!asVisitor) return
  const redirects = resource.hasPages ? 'redirects visitors to the page for signing in, and ' : ''
  it(`${redirects}returns 401 to visitors as JSON and XML`, async () => {
    await asVisitor()
    for (const format of resource.formats)
      await resource.expect('show', format, { status: format === 'html' ? 303 : 401 })
  })
}

const others: Check = (resource, it) => {
  const { asOther, singular } = resource.description
  if (!asOther || singular) return
  it('returns 404 to others', async () => {
    await asOther()
    for (const format of resource.formats) await expectHidden(resource, format, resource.record)
  })
}

const othersOfSingular: Check = (resource, it) => {
  const { asOther, singular } = resource.description
  if (!asOther || !singular) return
  it(`shows each user only their own ${resource.words.one}`, async () => {
    await asOther()
    if (resource.hasPages) await resource.expect('show', 'html', { location: `${resource.item}/new` })
    for (const format of ['json', 'xml'] as const) await expectHidden(resource, format, resource.record)
    // Others may not find the records to which the values refer.
    const created = await resource.expect('create', 'json', { lacks: existing(resource) }, resource.values)
    if (created.status !== 201) return
    await resource.expectAfter('create', { status: 200, members: { id: created.json.id } })
  })
}

const outside: Check = (resource, it) => {
  const { make, newer, within, singular } = resource.description
  if (!within || singular) return
  it(`finds no ${resource.words.one} of another parent or owner`, async function () {
    const other = await make(newer ?? {}).catch((error: unknown) => {
      if (!(error instanceof FactoryError)) throw error
    })
    // A second parent can be impossible, for example because its only state is unique.
    if (!other) return this.skip()
    await expectHidden(resource, 'json', other)
  })
}

/** Expects that nobody finds, changes or deletes a record. */
async function expectHidden(resource: TestedResource, format: Format, { id }: { id: string }): Promise<void> {
  const { singular, changes } = resource.description
  const { show, update, destroy } = singular ? resource.at() : resource.at(`${resource.list}/${id}`)
  await resource.expect(show, format, { status: 404 })
  await resource.expect(update, format, { status: 404 }, changes)
  await resource.expect(destroy, format, { status: 404 })
  if (!singular) await resource.expect('list', format, { lacks: id })
}

const list: Check = (resource, it) => {
  const { listed, onlyOne, newer: values, singular } = resource.description
  if (singular) return
  const order = listed ? '' : ', newest first,'
  it(`lists ${resource.words.many}${order} as ${namesOf(resource)}`, async () => {
    const { record, list: path } = resource
    const newer = onlyOne ? [] : [await resource.make(values)]
    const records = newer[0] && listed ? listed(record, newer[0]) : [...newer, record]
    for (const format of resource.formats)
      await resource.expect('list', format, { status: 200, contains: idIn(format, resource) })
    for (const [index, { id }] of records.entries()) {
      const page: Target = ['list', 'GET', `${path}?per_page=1&page=${index + 1}`]
      await resource.expect(page, 'json', { status: 200, ids: [id] })
    }
  })
}

const query: Check = (resource, it) => {
  const { query: find } = resource.description
  if (!find) return
  const target = (parameters: object): Target => {
    return ['list', 'GET', `${resource.list}?${new URLSearchParams({ ...parameters })}`]
  }
  it(`filters, sorts and searches ${resource.words.many}`, () => {
    const { record } = resource
    return resource.expect(target(find(record)), 'json', { status: 200, ids: [record.id] })
  })
  it('rejects a query that the list does not allow', () =>
    resource.expect(target({ unknown: '1' }), 'json', { status: 400, errors: ['unknown'] }))
}

const show: Check = (resource, it) => {
  it(`shows ${resource.aRecord} as ${namesOf(resource)}`, async () => {
    for (const format of resource.formats)
      await resource.expect('show', format, { status: 200, contains: shownIn(format, resource) })
  })
  if (resource.description.singular) return
  it(`returns 404 for ${resource.words.aOne} that does not exist`, async () => {
    const unknown = resource.at(`${resource.list}/unknown`)
    for (const format of resource.formats) await resource.expect(unknown.show, format, { status: 404 })
  })
}

const singular: Check = (resource, it) => {
  const { words, hasPages, description } = resource
  if (!description.singular) return
  const redirects = hasPages ? ', and redirects a browser to the form for a new one' : ''
  it(`returns 404 without ${words.aOne}${redirects}`, async () => {
    await resource.makeRoom()
    if (hasPages) await resource.expect('show', 'html', { status: 303, location: `${resource.item}/new` })
    for (const format of ['json', 'xml'] as const) await resource.expect('show', format, { status: 404 })
  })
  it(`returns 409 for a second ${words.one}`, () => {
    const members = { detail: existing(resource) }
    return resource.expect('create', 'json', { status: 409, members }, resource.values)
  })
}

const refused: Check = (resource, it) => {
  const { guard, routes: words = [] } = resource.description
  if (!guard) return
  const pages = resource.hasPages ? (['new', 'edit'] as const) : []
  for (const handler of [...pages, 'create', 'update', 'destroy'] as const)
    it(`${handler} returns 403 to roles that may not do it`, () => resource.expectRefusal(handler))
  for (const route of words.filter((word) => !isRead(word)))
    it(`${handlerOf(route)} returns 403 to roles that may not do it`, () =>
      resource.expectRefusal(targetOf(resource, route)))
}

/** The error of a second record of a singular resource. */
function existing({ words }: TestedResource): string {
  return `The ${words.one} already exists.`
}

const forms: Check = (resource, it) => {
  if (!resource.hasPages) return
  // Other pages have forms, too: that of a button has no field.
  const [field] = Object.keys(resource.description.changes)
  const form = { status: 200, contains: field === undefined ? '<form' : `name="${field}"` }
  it(`shows the form for a new ${resource.words.one}`, () => resource.expect('new', 'html', form))
  it(`shows the form to edit ${resource.aRecord}`, () => resource.expect('edit', 'html', form))
}

const create: Check = (resource, it) => {
  const { aOne } = resource.words
  if (resource.hasPages)
    it(`creates ${aOne} from a form and redirects to its page`, async () => {
      await resource.makeRoom()
      const { location } = await resource.expect('create', 'form', { status: 303 }, resource.values)
      await expectMessage(resource, location, 'created')
    })
  it(`creates ${aOne} from JSON`, async () => {
    await resource.makeRoom()
    const expected = { status: 201, members: resource.values }
    const { json, location } = await resource.expect('create', 'json', expected, resource.values)
    await resource.expectAfter('create', { status: 200, members: { id: json.id } }, location)
  })
  it(`creates ${aOne} from XML`, async () => {
    await resource.makeRoom()
    await resource.expect('create', 'xml', { status: 201, contains: '<id>' }, resource.values)
  })
}

const required: Check = (resource, it) => {
  const { required: names = [] } = resource.description
  const [first] = names
  if (first === undefined) return
  if (resource.hasPages)
    it(`shows the form again when ${first} is missing`, async () => {
      await resource.makeRoom()
      await resource.expect('create', 'form', { status: 422, contains: 'aria-invalid="true"' })
    })
  it(`returns 422 for JSON without ${first}`, async () => {
    await resource.makeRoom()
    await resource.expect('create', 'json', { status: 422, errors: names }, {})
  })
}

const update: Check = (resource, it) => {
  const { aRecord, description } = resource
  const { changes } = description
  if (resource.hasPages)
    it(`updates ${aRecord} from a form and redirects to its page`, async () => {
      const { item } = resource
      await resource.expect('update', 'form', { status: 303, location: item }, changes)
      await expectMessage(resource, item, 'updated')
      await resource.expectAfter('update', { members: changes })
    })
  it(`updates ${aRecord} from JSON`, () =>
    resource.expect('update', 'json', { status: 200, members: changes }, changes))
  it(`updates ${aRecord} from XML`, async () => {
    await resource.expect('update', 'xml', { status: 200, contains: idIn('xml', resource) }, changes)
    await resource.expectAfter('update', { members: changes })
  })
}

const destroy: Check = (resource, it) => {
  const { aRecord, description } = resource
  const target = description.singular ? 'home page' : 'list'
  if (resource.hasPages)
    it(`destroys ${aRecord} from a form and redirects to the ${target}`, async () => {
      const location = description.singular ? '/' : resource.list
      await resource.expect('destroy', 'form', { status: 303, location })
      const moved = description.trash ? `The ${resource.words.one} was moved to the trash.` : undefined
      await expectMessage(resource, location, 'destroyed', moved)
      await resource.expectAfter('destroy', { status: 404 })
    })
  it(`destroys ${aRecord} and returns it as JSON`, async () => {
    await resource.expect('destroy', 'json', { status: 200, members: { id: resource.record.id } })
    await resource.expectAfter('destroy', { status: 404 })
  })
}

const history: Check = (resource, it) => {
  const { aRecord, description, formats } = resource
  if (!description.history) return
  const read = (): Target => ['history', 'GET', `${resource.item}/history`]
  it(`shows the history of ${aRecord} as ${namesOf(resource)}`, async () => {
    for (const format of formats) {
      // The page of a singular resource has no id in its links.
      const isShown = format !== 'html' || !description.singular
      await resource.expect(read(), format, { status: 200, ...(isShown && { contains: resource.record.id }) })
    }
  })
  if (!description.asOther) return
  it(`shows others no history of ${aRecord}`, async () => {
    await description.asOther?.()
    await resource.expect(read(), 'json', { status: 404 })
  })
}

const trash: Check = (resource, it) => {
  const { words, hasPages, aRecord, description, formats } = resource
  if (!description.trash) return
  const inTrash = (): Target => ['trash', 'GET', `${resource.list}/trash`]
  const page = () => `${resource.list}/trash`
  const restore = (): Target => ['restore', 'POST', `${resource.item}/restore`, page()]
  const purge = (): Target => ['purge', 'DELETE', `${resource.item}/purge`, page()]
  const move = () => resource.expect('destroy', 'json', { status: 200 })
  it(`lists the ${words.many} in the trash as ${namesOf(resource)}`, async () => {
    await resource.expect(inTrash(), 'json', { status: 200, lacks: resource.record.id })
    await move()
    for (const format of formats)
      await resource.expect(inTrash(), format, { status: 200, contains: idIn(format, resource) })
  })
  it(`restores ${aRecord} from the trash`, async () => {
    const { id } = resource.record
    await move()
    await resource.expect(restore(), 'json', { status: 200, members: { id, deleted_at: null } }, {})
    await resource.expectAfter('destroy', { status: 200, members: { id } })
    await resource.expect(restore(), 'json', { status: 404 }, {})
  })
  if (hasPages)
    it('restores and deletes for good with the buttons of the trash', async () => {
      await move()
      const { item } = resource
      await resource.expect(restore(), 'form', { status: 303, location: item })
      await expectMessage(resource, item, 'restored', `The ${words.one} was restored.`)
      await move()
      await resource.expect(purge(), 'form', { status: 303, location: page() })
      await expectMessage(resource, page(), 'purged', `The ${words.one} was deleted for good.`)
    })
  it(`deletes ${aRecord} for good only in the trash`, async () => {
    await resource.expect(purge(), 'json', { status: 404 })
    await move()
    await resource.expect(purge(), 'json', { status: 200, members: { id: resource.record.id } })
    await resource.expect(inTrash(), 'json', { status: 200, lacks: resource.record.id })
  })
  if (!description.asOther) return
  it('neither shows nor moves what others have in the trash', async () => {
    await move()
    await description.asOther?.()
    await resource.expect(inTrash(), 'json', { lacks: resource.record.id })
    await resource.expect(restore(), 'json', { status: 404 }, {})
    await resource.expect(purge(), 'json', { status: 404 })
  })
}

const versions: Check = (resource, it) => {
  const { changes, locking } = resource.description
  if (!locking) return
  const stale = { ...changes, lock_version: 0 }
  if (resource.hasPages)
    it(`shows the form again when the ${resource.words.one} has changed since the form was opened`, () => {
      const contains = `name="lock_version" value="${String(Reflect.get(resource.record, 'lock_version'))}"`
      return resource.expect('update', 'form', { status: 409, contains }, stale)
    })
  it('returns 409 for the version of an earlier state', () =>
    resource.expect('update', 'json', { status: 409, errors: ['base'] }, stale))
  it('returns 412 for the tag of an earlier state in If-Match', () =>
    resource.expect('update', 'json', { status: 412 }, changes, { 'If-Match': '"0"' }))
}

const files: Check = (resource, it) => {
  const { files: types = {}, required: names = [] } = resource.description
  for (const [name, given] of Object.entries(types)) {
    const [type = ''] = [given].flat()
    const isRequired = (names as readonly string[]).includes(name)
    it(`stores and serves ${name}${isRequired ? '' : ', and removes it'}`, async () => {
      const stored = await resource.sendFile(name, sampleFile(type))
      check(`update with ${name}`, stored, { status: 200 })
      const served = await resource.readFile([stored.json[name]].flat()[0].url)
      check(`the file of ${name}`, served, { status: 200 })
      if (isRequired) return
      const removed = await resource.sendFile(name, '')
      check(`update without ${name}`, removed, { members: { [name]: Array.isArray(given) ? [] : null } })
    })
    if (!type.startsWith('image/')) continue
    it(`rejects ${name} of another type`, async () => {
      const rejected = await resource.sendFile(name, sampleFile('application/pdf'))
      check(`update with another ${name}`, rejected, { status: 422, errors: [name] })
    })
  }
}

const nested: Check = (resource, it) => {
  for (const name of Object.keys(resource.nested)) {
    declareLines(resource, it, name)
    declareForeignLine(resource, it, name)
  }
}

function declareLines(resource: TestedResource, it: Declare, name: string): void {
  const { hasPages, nested: lists, aRecord } = resource
  const { changes = {}, required: names = [], onlyOne } = lists[name] ?? {}
  const save = async (...lines: object[]): Promise<{ id: string }[]> => {
    const list = { [name]: lines }
    const { json } = await resource.expect('update', 'json', { status: 200, members: list }, list)
    return json[name]
  }
  it(`adds, changes, moves and removes ${name} of ${aRecord}`, async () => {
    const second = onlyOne ? [] : [{ ...(await resource.line(name)), ...changes }]
    const lines = await save(await resource.line(name), ...second)
    const ids = lines.map(({ id }) => ({ id }))
    await save(...ids.toReversed())
    const [first] = ids
    await save({ ...first })
    await save({ ...first, ...changes })
    await resource.expectAfter('update', { members: { [name]: [{ ...first, ...changes }] } })
  })
  if (hasPages)
    it(`adds and removes ${name} in the form of ${aRecord}`, async () => {
      const [stored] = await save(await resource.line(name))
      const line = await resource.line(name)
      const rows = { [name]: [{ id: stored?.id, _remove: 'true' }, line] }
      await resource.expect('update', 'form', { status: 303 }, rows)
      await resource.expectAfter('update', { members: { [name]: [line] } })
    })
  const [first] = names
  if (first === undefined) return
  it(`returns 422 for ${name} without ${first}, and saves none`, async () => {
    const before = await save(await resource.line(name))
    const errors = names.map((field) => `${name}.1.${field}`)
    const rows = { [name]: [await resource.line(name), {}] }
    await resource.expect('update', 'json', { status: 422, errors }, rows)
    await resource.expectAfter('update', { members: { [name]: before } })
  })
}

function declareForeignLine(resource: TestedResource, it: Declare, name: string): void {
  const { onlyOne, singular, newer } = resource.description
  it(`neither shows nor changes ${name} of another ${resource.words.one}`, async () => {
    const line = await resource.line(name)
    const send = (id: string) => {
      const errors = [`${name}.0`]
      return resource.expect('update', 'json', { status: 422, errors }, { [name]: [{ ...line, id }] })
    }
    const unknown = await send(newId())
    if (onlyOne || singular) return
    const other = await resource.make(newer)
    const { update, show: page } = resource.at(`${resource.list}/${other.id}`)
    const list = { [name]: [line] }
    const { json } = await resource.expect(update, 'json', { status: 200 }, list)
    const foreign = await send(json[name][0].id)
    check('the errors', { ...foreign, text: '' }, { members: { errors: unknown.json.errors } })
    await resource.expect(page, 'json', { status: 200, members: { [name]: json[name] } })
  })
}

const csv: Check = (resource, it) => {
  const { csv: columns, import: key } = resource.description
  if (!columns) return
  it(`exports ${resource.words.many} as CSV`, async () => {
    await resource.expect('list', 'csv', { status: 200, contains: `${columns.join(',')}\r\n` })
    const { text } = await resource.expect('list', 'csv', { contains: resource.record.id })
    if (typeof key !== 'string') return
    // The same file, imported, changes nothing.
    await resource.expect(importOf(resource), 'json', { status: 200, members: { created: 0 } }, text)
    await resource.expect('list', 'csv', { contains: text })
  })
}

const imports: Check = (resource, it) => {
  const { import: key } = resource.description
  if (key === undefined) return
  it('imports no line if one is wrong', async () => {
    const attribute = Object.entries(resource.values).find(([, value]) => !Array.isArray(value))?.[0] ?? ''
    const heading = key === 'id' ? `id,${attribute}` : key === true ? attribute : key
    const { text } = await resource.expect('list', 'json', { status: 200 })
    const file = `${heading}\r\n${heading},one cell too many\r\n`
    await resource.expect(importOf(resource), 'json', { status: 422, contains: '"line":2' }, file)
    await resource.expect('list', 'json', { contains: text })
  })
}

function importOf({ list: path }: TestedResource): Target {
  return ['import', 'POST', `${path}/import`]
}

const bulk: Check = (resource, it) => {
  const { bulk: actions = [], csv: columns, changes, asOther } = resource.description
  const { many } = resource.words
  const send = (action: string, expected: Expected) => {
    const values = { ids: [resource.record.id], ...(action === 'update' && changes) }
    return resource.expect([action, 'POST', `${resource.list}/bulk/${action}`], 'json', expected, values)
  }
  for (const action of actions)
    it(`calls ${action} for the selected ${many}`, () => send(action, { status: 200, members: { count: 1 } }))
  if (!asOther || (!columns && actions.length === 0)) return
  it(`neither exports nor changes the ${many} of others`, async () => {
    await asOther()
    if (columns) await resource.expect('list', 'csv', { lacks: resource.record.id })
    for (const action of actions) await send(action, { status: 404 })
  })
}

const routes: Check = (resource, it) => {
  for (const route of resource.description.routes ?? []) declareRoute(resource, it, route)
}

function declareRoute(resource: TestedResource, it: Declare, route: RouteWord): void {
  const { words, description, hasPages } = resource
  const { asOther } = description
  const [word = '', method = '', on] = route.split(':')
  const isOfList = on === 'collection'
  const isRead = method === 'get'
  const handler = handlerOf(route)
  const page = () => (isOfList ? resource.list : resource.item)
  const target = () => targetOf(resource, route)
  const records = isOfList ? (isRead ? `some ${words.many}` : words.many) : words.aOne
  const title = `${handler} ${isRead ? 'shows' : 'changes'} ${records}`
  // Without JSON, a POST would need the token of a form.
  const values = method === 'post' ? {} : undefined
  if (hasPages && isRead)
    it(`${title} as HTML`, () =>
      resource.expect(target(), 'html', { status: 200, contains: shownIn('html', resource) }))
  if (hasPages && !isRead)
    it(`${title} with the button of ${isOfList ? 'the list' : 'its page'}`, async () => {
      await resource.enter(target())
      const button = `action="${page()}/${word}"`
      await resource.expect(isOfList ? 'list' : 'show', 'html', { status: 200, contains: button })
      const { location } = await resource.expect(target(), 'form', { status: 303 })
      await expectMessage(resource, location, word, `${humanize(word)} succeeded.`)
    })
  it(`${title} as JSON`, () => {
    const { id } = resource.record
    const expected = isOfList ? { ids: [id] } : { members: { id } }
    return resource.expect(target(), 'json', { status: 200, ...expected }, values)
  })
  if (asOther && !isRead)
    it(`${handler} ${isOfList ? 'changes nothing of others' : 'returns 404 to others'}`, async () => {
      await asOther()
      const expected = isOfList ? { lacks: resource.record.id } : { status: 404 }
      await resource.expect(target(), 'json', expected, {})
    })
}

/** The handler of a route, with its path. */
function targetOf({ list: path, item }: TestedResource, route: RouteWord): Target {
  const [word = '', method = '', on] = route.split(':')
  const page = on === 'collection' ? path : item
  return [handlerOf(route), method.toUpperCase(), `${page}/${word}`, page]
}

/** Expects the flash message of a change on the page to which it redirects. */
function expectMessage(resource: TestedResource, path: string, change: string, usual?: string) {
  const { messages } = resource.description
  const done = change === 'destroyed' ? 'deleted' : change
  const contains = messages?.[change] ?? usual ?? `The ${resource.words.one} was ${done}.`
  return resource.expect([`page after ${change}`, 'GET', path], 'html', { status: 200, contains })
}

/** A text that a response contains if the record is in it. */
function idIn(format: Format, { record, item }: TestedResource): string {
  if (format === 'html') return item
  return format === 'xml' ? `<id>${record.id}</id>` : `"id":"${record.id}"`
}

/** A text on the page of a record. A page without links to change it does not contain its id. */
function shownIn(format: Format, resource: TestedResource): string {
  return format === 'html' && !resource.isChangeable ? '' : idIn(format, resource)
}

/** The formats in titles: `HTML, JSON and XML`. */
function namesOf({ formats }: TestedResource): string {
  const names = formats.map((format) => format.toUpperCase())
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/** The checks in the order in which they run. */
export const checks: readonly Check[] = [
  visitors,
  others,
  othersOfSingular,
  outside,
  list,
  query,
  show,
  singular,
  forms,
  create,
  required,
  update,
  destroy,
  history,
  trash,
  versions,
  refused,
  files,
  nested,
  csv,
  imports,
  bulk,
  routes,
]
