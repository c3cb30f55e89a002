import { expect } from 'chai'
import { openExampleBlog } from '../../support/applications/example-blog.js'
import type { Site } from '../../support/site.js'

const accept = 'application/json'
const unknownId = '00000000-0000-7000-8000-000000000000'

describe('The JSON of a resource', () => {
  let blog: Awaited<ReturnType<typeof openExampleBlog>>
  let site: Site

  beforeEach(async () => {
    blog = await openExampleBlog()
    site = blog.site
  })

  afterEach(() => site.close())

  it('POST /posts returns 201 with the record and its Location', async () => {
    const response = await site.post('/posts', { accept, json: { title: 'Hello' } })
    expect(response.status).to.equal(201)
    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8')
    expect(response.headers.get('vary')).to.equal('Accept')
    const post = response.json
    expect(Object.keys(post)).to.have.members(['id', 'created_at', 'updated_at', 'title', 'description'])
    expect(post).to.include({ title: 'Hello', description: null })
    expect(post.id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(new Date(post.created_at).toISOString()).to.equal(post.created_at)
    expect(response.headers.get('location')).to.equal(`/posts/${post.id}`)
    expect((await site.get(`/posts/${post.id}`, { accept })).json).to.deep.equal(post)
  })

  it('GET /posts returns 200 with a plain array, newest first', async () => {
    for (const title of ['first', 'second', 'third']) await site.post('/posts', { json: { title } })
    const response = await site.get('/posts', { accept })
    expect(response.status).to.equal(200)
    expect(response.json.map((post: { title: string }) => post.title)).to.deep.equal([
      'third',
      'second',
      'first',
    ])
  })

  it('PUT /posts/{post_id} returns 200 with the changed record, and keeps absent fields', async () => {
    const { json: post } = await site.post('/posts', { accept, json: { title: 'Old', description: 'kept' } })
    const response = await site.put(`/posts/${post.id}`, { accept, json: { title: 'New' } })
    expect(response.status).to.equal(200)
    expect(response.json).to.include({
      id: post.id,
      title: 'New',
      description: 'kept',
      created_at: post.created_at,
    })
    expect(response.json.updated_at >= post.updated_at).to.equal(true)
    expect((await site.get(`/posts/${post.id}`, { accept })).json).to.deep.equal(response.json)
  })

  it('PATCH /posts/{post_id} has the same effect as PUT', async () => {
    const { json: post } = await site.post('/posts', { accept, json: { title: 'Old', description: 'kept' } })
    const response = await site.request('PATCH', `/posts/${post.id}`, { accept, json: { title: 'New' } })
    expect(response.status).to.equal(200)
    expect(response.json).to.include({ title: 'New', description: 'kept' })
  })

  it('DELETE /posts/{post_id} returns 200 with the deleted record, including its id', async () => {
    const { json: post } = await site.post('/posts', { accept, json: { title: 'Doomed' } })
    const response = await site.delete(`/posts/${post.id}`, { accept })
    expect(response.status).to.equal(200)
    expect(response.json).to.deep.equal(post)
    expect((await site.get(`/posts/${post.id}`, { accept })).status).to.equal(404)
  })

  it('create and update return 422 with the messages by field, as problem details', async () => {
    const { json: post } = await site.post('/posts', { accept, json: { title: 'Valid' } })
    for (const response of [
      await site.post('/posts', { accept, json: {} }),
      await site.post('/posts', { accept, json: { title: null } }),
      await site.put(`/posts/${post.id}`, { accept, json: { title: ' \t' } }),
    ]) {
      expect(response.status).to.equal(422)
      expect(response.headers.get('content-type')).to.contain('application/problem+json')
      expect(response.json).to.deep.equal({
        status: 422,
        title: 'Unprocessable Entity',
        detail: 'The record is not valid.',
        request_id: response.headers.get('x-request-id'),
        errors: { title: ['Title cannot be blank.'] },
        codes: { title: ['present'] },
      })
    }
  })

  it('create returns 422 for a value that is not text, with a message for that field', async () => {
    for (const title of [1, true, ['a'], { a: 1 }]) {
      const response = await site.post('/posts', { accept, json: { title } })
      expect(response.status, JSON.stringify(title)).to.equal(422)
      expect(Object.keys(response.json.errors)).to.deep.equal(['title'])
    }
  })

  it('show, update and destroy return 404 if the record does not exist', async () => {
    for (const id of [unknownId, 'no-uuid', '1', 'new%00', `${unknownId}0`]) {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const body = method === 'PUT' ? { json: { title: '' } } : {}
        const response = await site.request(method, `/posts/${id}`, { accept, ...body })
        expect(response.status, `${method} ${id}`).to.equal(404)
        expect(response.json).to.include({ status: 404, title: 'Not Found', detail: 'Post not found.' })
      }
    }
  })

  it('the response is JSON if the body is JSON and the client accepts any format', async () => {
    const response = await site.post('/posts', { accept: '*/*', json: { title: 'Hello' } })
    expect(response.status).to.equal(201)
    expect(response.headers.get('content-type')).to.contain('application/json')
  })

  it('new and edit return 406', async () => {
    expect((await site.get('/posts/new', { accept })).status).to.equal(406)
  })

  it('create returns 406 and keeps nothing if no offered format is acceptable', async () => {
    const response = await site.post('/posts', { accept: 'image/png', json: { title: 'Not kept' } })
    expect(response.status).to.equal(406)
    expect(response.headers.get('content-type')).to.contain('text/html')
    expect(response.headers.get('location')).to.equal(null)
    expect(await blog.database.query('SELECT * FROM posts')).to.have.length(0)
  })

  describe('pages', () => {
    beforeEach(async () => {
      for (let number = 1; number <= 25; number++)
        await site.post('/posts', { json: { title: `n${number}` } })
    })

    async function titles(query: string): Promise<string[]> {
      return (await site.get(`/posts${query}`, { accept })).json.map((post: { title: string }) => post.title)
    }

    it('have 20 records by default', async () => {
      expect(await titles('')).to.have.length(20)
      expect(await titles('?page=2')).to.deep.equal(['n5', 'n4', 'n3', 'n2', 'n1'])
    })

    it('have as many records as per_page says, at most 100', async () => {
      expect(await titles('?per_page=2&page=3')).to.deep.equal(['n21', 'n20'])
      expect(await titles('?per_page=1000000000')).to.have.length(25)
    })

    it('are described by the headers, in every format', async () => {
      for (const format of ['text/html', 'application/json', 'application/xml']) {
        const { headers } = await site.get('/posts?per_page=10&page=2', { accept: format })
        expect(headers.get('x-total-count')).to.equal('25')
        expect(headers.get('link')).to.equal(
          '</posts?per_page=10&page=1>; rel="first", </posts?per_page=10&page=1>; rel="prev", ' +
            '</posts?per_page=10&page=3>; rel="next", </posts?per_page=10&page=3>; rel="last"',
        )
      }
    })

    it('begin with the first if the page is not a number', async () => {
      for (const page of ['-1', '0', '1.5', '2abc', '%202', '', 'x', '1e1']) {
        expect((await titles(`?page=${page}`))[0], page).to.equal('n25')
      }
    })

    it('are empty beyond the last one', async () => {
      for (const page of ['3', '99999999999999999999'])
        expect(await titles(`?page=${page}`)).to.deep.equal([])
    })

    it('use the last value of a repeated parameter', async () => {
      expect(await titles('?page=1&page=2')).to.have.length(5)
    })
  })
})
