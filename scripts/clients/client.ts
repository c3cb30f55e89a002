import assert from 'node:assert/strict'
import createClient from 'openapi-fetch'
import type { components as BlogComponents, paths as BlogPaths } from './generated/blog.js'
import type { paths as LibraryPaths } from './generated/library.js'
import type { paths as LinesPaths } from './generated/lines.js'

const [, , blogUrl = '', libraryUrl = '', linesUrl = '', item_id = ''] = process.argv
// Without this header, a web application returns HTML, because fetch accepts everything.
const headers = { Accept: 'application/json' }
const blog = createClient<BlogPaths>({ baseUrl: blogUrl, headers })
const library = createClient<LibraryPaths>({ baseUrl: libraryUrl, headers })

// A web application.
const created = await blog.POST('/posts', { body: { title: 'Hello', description: null } })
assert.equal(created.response.status, 201)
const id: string = created.data?.id ?? ''

const invalid = await blog.POST('/posts', { body: { title: ' ' } })
assert.equal(invalid.response.status, 422)
assert.deepEqual(invalid.error?.codes?.['title'], ['present'])

const missing = await blog.GET('/posts/{post_id}', {
  params: { path: { post_id: '0193b6a2-7c3e-7000-8000-000000000000' } },
})
assert.equal(missing.error?.status, 404)

// The default of openapi-fetch repeats `sort`, although the document has `explode: false`.
for (const querySerializer of [{}, { array: { style: 'form', explode: false } } as const]) {
  const list = await blog.GET('/posts', {
    params: { query: { 'title.prefix': 'He', sort: ['title', '-created_at'] } },
    querySerializer,
  })
  assert.equal(list.data?.[0]?.id, id)
  assert.equal(list.response.headers.get('x-total-count'), '1')
}

const changed = await blog.PATCH('/posts/{post_id}', {
  params: { path: { post_id: id } },
  body: { description: 'Text' },
})
assert.equal(changed.data?.description, 'Text')

// An API application.
const shelf = await library.POST('/shelves', { body: { name: 'fiction', floor: 2 } })
assert.equal(shelf.response.status, 201)
const shelf_id = shelf.data?.id ?? ''
const full = await library.POST('/shelves', { body: { name: 'fiction', floor: 10 } })
assert.equal(full.error?.status, 422)

const cover = new Blob(['image'], { type: 'image/png' })
const uploaded = await library.POST('/shelves/{shelf_id}/cover', {
  params: { path: { shelf_id } },
  // The type of a file is a string with the format binary.
  body: { cover: cover as unknown as string },
  bodySerializer: ({ cover: file }) => {
    const form = new FormData()
    form.set('cover', file as unknown as Blob, 'cover.png')
    return form
  },
})
assert.equal(uploaded.response.status, 204)

// An API of orders with lines.
const orders = createClient<LinesPaths>({ baseUrl: linesUrl, headers: { ...headers, 'X-User': 'me' } })
const order = await orders.POST('/orders', {
  body: {
    number: '1',
    lines: [
      { item_id, quantity: 1 },
      { item_id, quantity: 2 },
    ],
  },
})
assert.equal(order.response.status, 201)
const [firstLine, secondLine] = order.data?.lines ?? []
const quantity: number | undefined = firstLine?.quantity
assert.equal(quantity, 1)
const path = { order_id: order.data?.id ?? '' }
const reordered = await orders.PATCH('/orders/{order_id}', {
  params: { path },
  body: { lines: [{ id: secondLine?.id, quantity: 5 }, { id: firstLine?.id }] },
})
assert.deepEqual(
  reordered.data?.lines.map((line) => line.quantity),
  [5, 1],
)
const wrong = await orders.PATCH('/orders/{order_id}', {
  params: { path },
  body: { lines: [{ item_id, quantity: 0 }] },
})
assert.deepEqual(wrong.error?.codes?.['lines.0.quantity'], ['min'])

export async function mistakes() {
  // @ts-expect-error -- a text as the quantity of a line
  await orders.POST('/orders', { body: { number: '1', lines: [{ item_id, quantity: 'two' }] } })
  // @ts-expect-error -- a line instead of a list
  await orders.POST('/orders', { body: { number: '1', lines: { item_id, quantity: 2 } } })
  // @ts-expect-error -- a misspelled property of a line in the response
  assert.ok(order.data?.lines[0]?.amount)
  // @ts-expect-error -- a misspelled path
  await blog.GET('/postss')
  // @ts-expect-error -- a misspelled property
  await blog.POST('/posts', { body: { titel: 'Hello' } })
  // @ts-expect-error -- a missing property
  await blog.POST('/posts', { body: {} })
  // @ts-expect-error -- a misspelled property of the response
  return created.data?.titel
}

console.log('openapi-fetch works with the blog, with an API application and with orders that have lines.')

/** What docs/openapi.md says about misspelled names. This function is compiled and never called. */
export async function misspell(): Promise<void> {
  // @ts-expect-error -- the path
  await blog.POST('/postss', { body: { title: 'Hello' } })
  // @ts-expect-error -- a missing property
  await blog.POST('/posts', { body: {} })
  // @ts-expect-error -- a property of the response
  assert(created.data?.titel)
  // openapi-fetch accepts additional properties.
  await blog.POST('/posts', { body: { title: 'Hello', descriptoin: 'Text' } })
  await blog.POST('/posts', { body: { title: 'Hello' } satisfies BlogComponents['schemas']['PostInput'] })
  // @ts-expect-error -- an additional property of a body whose type is checked
  const body = { title: 'Hello', descriptoin: 'Text' } satisfies BlogComponents['schemas']['PostInput']
  await blog.POST('/posts', { body })
}
