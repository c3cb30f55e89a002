import { expect } from 'chai'
import { Post } from '../../src/models/post.js'
import { client, factory, isolate } from '../support/app.js'

describe('PostsResource', () => {
  // Undoes what a test changes.
  isolate()

  const values = { title: 'First', description: 'First line' }
  const changes = { title: 'Second', description: 'Second line' }
  const postsPath = '/posts'
  let post: Post
  let postPath: string

  before(async () => {
    post = await factory.make(Post)
    postPath = `${postsPath}/${post.id}`
  })

  it('lists posts, newest first, as HTML, JSON and XML', async () => {
    const newer = await factory.make(Post)
    const page = await client.get(postsPath)
    expect(page.status).to.equal(200)
    expect(page.text).to.include(postPath)
    const { json } = await client.get(postsPath, { accept: 'json' })
    const ids = json.map(({ id }: Post) => id)
    expect(ids).to.deep.equal([newer.id, post.id])
    const { text } = await client.get(postsPath, { accept: 'xml' })
    expect(text).to.include(`<id>${post.id}</id>`)
  })

  it('filters, sorts and searches posts', async () => {
    const query = new URLSearchParams({
      'title.prefix': post.title,
      'created_at.gte': post.created_at.toISOString(),
      sort: 'title',
      search: post.title,
    })
    const response = await client.get(`${postsPath}?${query}`, { accept: 'json' })
    expect(response.status).to.equal(200)
    const ids = response.json.map(({ id }: Post) => id)
    expect(ids).to.deep.equal([post.id])
  })

  it('rejects a query that the list does not allow', async () => {
    const response = await client.get(`${postsPath}?unknown=1`, { accept: 'json' })
    expect(response.status).to.equal(400)
    expect(response.json.errors).to.have.keys('unknown')
  })

  it('shows a post as HTML, JSON and XML', async () => {
    const page = await client.get(postPath)
    expect(page.status).to.equal(200)
    const { json } = await client.get(postPath, { accept: 'json' })
    expect(json.id).to.equal(post.id)
    const { text } = await client.get(postPath, { accept: 'xml' })
    expect(text).to.include(`<id>${post.id}</id>`)
  })

  it('returns 404 for a post that does not exist', async () => {
    const response = await client.get(`${postsPath}/unknown`, { accept: 'json' })
    expect(response.status).to.equal(404)
  })

  it('shows the form for a new post', async () => {
    const page = await client.get(`${postsPath}/new`)
    expect(page.status).to.equal(200)
    expect(page.text).to.include('<form')
  })

  it('creates a post from a form and redirects to its page', async () => {
    // The page contains a token, which the client sends with the form.
    await client.get(`${postsPath}/new`)
    const response = await client.post(postsPath, { form: values })
    expect(response.status).to.equal(303)
    const page = await client.get(response.location)
    expect(page.status).to.equal(200)
    expect(page.text).to.include('Post was created successfully.')
  })

  it('creates a post from JSON', async () => {
    const response = await client.post(postsPath, { json: values, accept: 'json' })
    expect(response.status).to.equal(201)
    expect(response.json).to.deep.include(values)
    expect(response.location).to.equal(`${postsPath}/${response.json.id}`)
  })

  it('creates a post from XML', async () => {
    const xml = { post: values }
    const response = await client.post(postsPath, { xml, accept: 'xml' })
    expect(response.status).to.equal(201)
    expect(response.text).to.include('<post>')
  })

  it('shows the form again when title is missing', async () => {
    await client.get(`${postsPath}/new`)
    const page = await client.post(postsPath, { form: {} })
    expect(page.status).to.equal(422)
    expect(page.text).to.include('<form')
  })

  it('returns 422 for JSON without title', async () => {
    const response = await client.post(postsPath, { json: {}, accept: 'json' })
    expect(response.status).to.equal(422)
    expect(response.json.errors).to.have.property('title')
  })

  it('shows the form to edit a post', async () => {
    const page = await client.get(`${postPath}/edit`)
    expect(page.status).to.equal(200)
    expect(page.text).to.include('<form')
  })

  it('updates a post from a form and redirects to its page', async () => {
    await client.get(`${postPath}/edit`)
    const response = await client.post(postPath, { form: { _method: 'PUT', ...changes } })
    expect(response.status).to.equal(303)
    expect(response.location).to.equal(postPath)
  })

  it('updates a post from JSON', async () => {
    const response = await client.put(postPath, { json: changes, accept: 'json' })
    expect(response.status).to.equal(200)
    expect(response.json).to.deep.include(changes)
  })

  it('destroys a post from a form and redirects to the list', async () => {
    await client.get(postPath)
    const response = await client.post(postPath, { form: { _method: 'DELETE' } })
    expect(response.status).to.equal(303)
    expect(response.location).to.equal(postsPath)
    const page = await client.get(postPath)
    expect(page.status).to.equal(404)
  })

  it('destroys a post and returns it as JSON', async () => {
    const response = await client.delete(postPath, { accept: 'json' })
    expect(response.status).to.equal(200)
    expect(response.json.id).to.equal(post.id)
  })
})
