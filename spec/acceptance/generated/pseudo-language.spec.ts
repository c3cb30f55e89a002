import { expect } from 'chai'
import { generate } from '../../../src/generator/files/files.js'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { resourceActions } from '../../../src/generator/resource-generator.js'
import { Catalog, frameworkCatalog } from '../../../src/translations/catalog.js'
import { Application } from '../../support/applications/generated.js'

/** Attributes with an input and a display of every kind. Their values have no letters. */
const ATTRIBUTES = [
  'title',
  'body:nulls.text',
  'stars:int',
  'price:decimal',
  'open:bool',
  'answered:nulls.bool',
  'day:date',
  'hour:time',
  'moment:datetime',
  'data:json',
  'state:enum:draft,public',
  'author:references',
  'assignee:nulls.references:author',
  'labels:many',
]

/** A language in which every text is the English one in brackets. */
const LANGUAGE = 'qps'

describe('The generated pages in a pseudo-language', () => {
  let app: Application
  let pages: Record<string, string>

  before(() => {
    app = Application.web()
    const resource = (name: string, attributes: string[], options: ResourceArguments = {}) =>
      generate(app.folder, resourceActions(app.folder, name, { attributes, ...options }))
    resource('author', ['name'])
    resource('label', ['name'])
    resource('issue', ATTRIBUTES, {
      route: ['publish:post', 'preview:get', 'drafts:get:collection', 'import:post:collection'],
    })
    resource('comment', ['body:text', 'author:nulls.references'], { parent: 'issue' })
    resource('reply', ['body'], { parent: 'comment' })
    resource('admin/widget', ['size:int'])
    resource('news', ['title'])
    resource('profile', ['name'], { singular: true, route: ['publish:post'] })
    app.write(`locales/all.${LANGUAGE}.yaml`, pseudoTexts(app.path('locales')))
    app.write('visit.mjs', VISIT)
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
    const { output } = app.run('node', 'visit.mjs', LANGUAGE)
    pages = JSON.parse(output)
  })
  after(() => app.remove())

  it('contain no text outside of brackets, except data', () => {
    const rest = Object.entries(pages).map(([name, page]) => [name, outsideBrackets(page)] as const)
    expect(Object.fromEntries(rest.filter(([, texts]) => texts.length > 0))).to.deep.equal({})
  })

  it('have no description for search engines, which only the author of a page can write', () => {
    expect(Object.keys(pages).filter((name) => pages[name]?.includes('name="description"'))).to.deep.equal([])
  })

  it('write void elements without a slash', () => {
    expect(Object.keys(pages).filter((name) => pages[name]?.includes('/>'))).to.deep.equal([])
  })

  it('are all visited', () => {
    expect(Object.keys(pages)).to.have.length.above(40)
    expect(Object.entries(pages).filter(([, page]) => !page.includes(`lang="${LANGUAGE}"`))).to.deep.equal([])
  })
})

/** Every English text in brackets, as a locale file. */
function pseudoTexts(folder: string): string {
  const catalog = new Catalog(folder, { base: frameworkCatalog() })
  return [...catalog.textsFor('en-US')]
    .map(
      ([id, { translation }]) =>
        `- id: ${JSON.stringify(id)}\n  translation: ${JSON.stringify(bracketed(translation))}\n`,
    )
    .join('')
}

function bracketed(translation: string | Record<string, string>): string | Record<string, string> {
  if (typeof translation === 'string') return `[${translation}]`
  return Object.fromEntries(Object.entries(translation).map(([form, text]) => [form, `[${text}]`]))
}

/** The texts of a page that people see or hear and that have letters, without those in brackets, times and code. */
function outsideBrackets(page: string): string[] {
  const body = page.replaceAll(/<(time|code|script|style)\b[^]*?<\/\1>/g, '').replaceAll(/&(#?\w+);/g, ' ')
  const spoken = [
    ...body.matchAll(/ (?:aria-label|title|alt|placeholder|data-label|data-confirm)="([^"]*)"/g),
  ]
  const description = [...body.matchAll(/<meta name="description" content="([^"]*)"/g)]
  const texts = [...spoken, ...description].map(([, text = '']) => text)
  return [...texts, ...body.split(/<[^>]*>/)]
    .map((text) => withoutBrackets(text).trim())
    .filter((text) => /\p{L}/u.test(text))
}

function withoutBrackets(text: string): string {
  const rest = text.replaceAll(/\[[^[\]]*\]/g, '')
  return rest === text ? text : withoutBrackets(rest)
}

/** Visits every page in a language, and prints them by name. The data have no letters. */
const VISIT = `
import 'reflect-metadata'
process.env.GO_ENV = 'test'
process.env.DATABASE_URL = 'sqlite::memory:'
const { app } = await import('./dist/src/app.js')
const { database } = await import('./dist/src/database.js')
const { Client } = await import('resource-kit/testing')
await database.open()
await database.migrate()
const headers = { 'accept-language': process.argv[2] }
const browser = await new Client(app, { accept: 'html' }).open()
const pages = {}

async function visit(path) {
  const { status, text, location } = await browser.get(path, { headers })
  if (status === 303) return visit(location)
  pages[path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID') + ' ' + status] = text
}

async function create(path, json) {
  const { json: made, status, text } = await browser.post(path, { json, accept: 'json' })
  if (status !== 201) throw new Error(path + ': ' + text)
  return path + '/' + made.id
}

async function form(name, path, form) {
  const { status, text, location } = await browser.post(path, { form, headers })
  pages[name + ' ' + status] = status === 303 ? (await browser.get(location, { headers })).text : text
}

const author = await create('/authors', { name: '1' })
const values = {
  title: '12', body: '34', stars: 5, price: '6.50', open: true, answered: false, day: '2026-01-02', hour: '03:04',
  moment: '2026-01-02T03:04:05Z', data: [1, 2], state: 'draft', author_id: author.split('/').at(-1),
}
await visit('/')
for (const path of ['/issues', '/authors', '/admin/widgets', '/labels', '/news']) await visit(path)
await visit('/profile')
await visit('/issues/new')
const label = await create('/labels', { name: '1' })
const issue = await create('/issues', { ...values, assignee_id: values.author_id, label_ids: [label.split('/').at(-1)] })
const comment = await create(issue + '/comments', { body: '1' })
const reply = await create(comment + '/replies', { body: '1' })
const widget = await create('/admin/widgets', { size: 1 })
const news = await create('/news', { title: '1' })
await create('/profile', { name: '1' })
for (const item of [author, issue, comment, reply, widget, label, news]) {
  const list = item.slice(0, item.lastIndexOf('/'))
  for (const path of [list, list + '/new', item, item + '/edit']) await visit(path)
}
for (const path of ['/profile', '/profile/new', '/profile/edit', '/issues/drafts', issue + '/preview']) await visit(path)
for (let number = 0; number < 150; number++) await create('/labels', { name: String(number) })
for (const page of [1, 4, 8]) await visit('/labels?page=' + page)

await form('invalid', '/issues', { title: ' ', stars: 'x', price: '1', day: '31', hour: '25', data: '{', state: '', moment: '1' })
await form('one error', '/labels', { name: '' })
await form('created', '/labels', { name: '1' })
await form('updated', label, { _method: 'PUT', name: '2' })
await form('published', issue + '/publish', {})
await form('imported', '/issues/import', {})
await form('profile published', '/profile/publish', {})
await form('second profile', '/profile', { name: '1' })
await form('reference', author, { _method: 'DELETE' })
await form('destroyed', label, { _method: 'DELETE' })
await form('profile destroyed', '/profile', { _method: 'DELETE' })
await visit('/nope')
await visit(label)
await form('wrong method', '/', {})
pages['forged 403'] = (await browser.post('/labels', { form: { name: '1' }, fromPage: false, headers })).text
pages['too large 413'] = (await browser.post('/labels', { form: { name: 'x'.repeat(2_000_000) }, headers })).text
console.log(JSON.stringify(pages))
await browser.close()
await database.close()
`
