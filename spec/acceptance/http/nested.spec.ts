import { expect } from 'chai'
import { openExampleBlog } from '../../support/applications/example-blog.js'
import type { Site } from '../../support/site.js'

const accept = 'application/json'

describe('A nested resource', () => {
  let blog: Awaited<ReturnType<typeof openExampleBlog>>
  let site: Site
  let path: string
  let postId: string

  beforeEach(async () => {
    blog = await openExampleBlog()
    site = blog.site
    postId = await createPost('The post')
    path = `/posts/${postId}/comments`
  })

  afterEach(() => site.close())

  async function createPost(title: string): Promise<string> {
    return (await site.post('/posts', { accept, json: { title } })).json.id
  }

  it("creates a record of its parent, with the parent's id", async () => {
    const response = await site.post(path, { accept, json: { body: 'First!' } })
    expect(response.status).to.equal(201)
    expect(response.json).to.include({ body: 'First!', post_id: postId })
    expect(response.headers.get('location')).to.equal(`${path}/${response.json.id}`)
  })

  it('reads the parent only from the path, in create and update', async () => {
    const other = await createPost('Another post')
    const { json: comment } = await site.post(path, { accept, json: { body: 'Mine', post_id: other } })
    expect(comment.post_id).to.equal(postId)
    const changed = await site.put(`${path}/${comment.id}`, { accept, json: { post_id: other } })
    expect(changed.json.post_id).to.equal(postId)
  })

  it('lists only the records of its parent', async () => {
    const other = await createPost('Another post')
    await site.post(path, { json: { body: 'here' } })
    await site.post(`/posts/${other}/comments`, { json: { body: 'there' } })
    const { json, headers } = await site.get(path, { accept })
    expect(json.map((comment: { body: string }) => comment.body)).to.deep.equal(['here'])
    expect(headers.get('x-total-count')).to.equal('1')
  })

  it('returns 404 for a child of another parent', async () => {
    const other = await createPost('Another post')
    const { json: comment } = await site.post(path, { accept, json: { body: 'here' } })
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const body = method === 'PUT' ? { json: { body: 'x' } } : {}
      const response = await site.request(method, `/posts/${other}/comments/${comment.id}`, {
        accept,
        ...body,
      })
      expect(response.status, method).to.equal(404)
    }
    expect((await site.get(`/posts/${other}/comments/${comment.id}/edit`)).status).to.equal(404)
  })

  it('returns 404 when the parent does not exist', async () => {
    for (const parent of ['00000000-0000-7000-8000-000000000000', 'nope']) {
      expect((await site.get(`/posts/${parent}/comments`, { accept })).status).to.equal(404)
      expect((await site.get(`/posts/${parent}/comments/new`)).status).to.equal(404)
      expect((await site.post(`/posts/${parent}/comments`, { accept, json: { body: 'x' } })).status).to.equal(
        404,
      )
    }
  })

  it('shows its pages: list, new, show and edit', async () => {
    const created = await site.post(path, { form: { body: 'Written in a form' } })
    expect(created.status).to.equal(303)
    const item = created.headers.get('location') ?? ''
    expect((await site.get(item)).text)
      .to.contain('Written in a form')
      .and.to.contain('The comment was created.')
    expect((await site.get(path)).text)
      .to.contain(`href="${item}"`)
      .and.to.contain(`href="${path}/new"`)
    expect((await site.get(`${path}/new`)).text).to.contain(`action="${path}"`)
    expect((await site.get(`${item}/edit`)).text)
      .to.contain('Written in a form')
      .and.to.contain(`action="${item}"`)
  })

  it('updates and destroys by forms', async () => {
    const item = (await site.post(path, { form: { body: 'Old' } })).headers.get('location') ?? ''
    const changed = await site.post(item, { form: { _method: 'PUT', body: 'New' } })
    expect([changed.status, changed.headers.get('location')]).to.deep.equal([303, item])
    const rejected = await site.post(item, { form: { _method: 'PUT', body: ' ' } })
    expect(rejected.status).to.equal(422)
    expect(rejected.text).to.contain('Edit comment')
    const deleted = await site.post(item, { form: { _method: 'DELETE' } })
    expect([deleted.status, deleted.headers.get('location')]).to.deep.equal([303, path])
  })

  it('returns 422 and shows the form of its parent again', async () => {
    const response = await site.post(path, { form: { body: '' } })
    expect(response.status).to.equal(422)
    expect(response.text).to.contain('New comment').and.to.contain(`action="${path}"`)
  })

  it('is deleted when its parent is destroyed', async () => {
    const { json: comment } = await site.post(path, { accept, json: { body: 'here' } })
    await site.delete(`/posts/${postId}`, { accept })
    expect((await site.get(`${path}/${comment.id}`, { accept })).status).to.equal(404)
    expect(await blog.database.query('SELECT * FROM comments')).to.have.length(0)
  })
})
