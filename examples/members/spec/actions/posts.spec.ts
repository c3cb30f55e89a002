import { expect } from 'chai'
import { Post } from '../../src/models/post.js'
import { client, factory, isolate } from '../support/app.js'
import { makeUser, signIn, signOut } from '../support/users.js'

describe('PostsResource', () => {
  // Undoes what a test changes.
  isolate()

  const values = { title: 'First', body: 'First line' }
  const changes = { title: 'Second', body: 'Second line' }
  const postsPath = '/posts'
  let post: Post
  let postPath: string

  before(async () => {
    const owner = await makeUser()
    await signIn(client, owner)
    post = await factory.make(Post, { user_id: owner.id })
    postPath = `${postsPath}/${post.id}`
  })

  it('redirects visitors to the page for signing in, and returns 401 as JSON', async () => {
    await signOut(client)
    const page = await client.get(postPath)
    expect(page.status).to.equal(303)
    const response = await client.get(postPath, { accept: 'json' })
    expect(response.status).to.equal(401)
  })

  it('returns 404 to others', async () => {
    await signIn(client, await makeUser())
    for (const accept of ['html', 'json', 'xml']) {
      const responses = [
        await client.get(postPath, { accept }),
        await client.put(postPath, { json: changes, accept }),
        await client.delete(postPath, { accept }),
      ]
      expect(responses.map(({ status }) => status)).to.deep.equal([404, 404, 404])
      const { text } = await client.get(postsPath, { accept })
      expect(text).to.not.include(post.id)
    }
  })

  it('lists posts, newest first, as HTML, JSON and XML', async () => {
    const newer = await factory.make(Post, { user_id: post.user_id })
    const page = await client.get(postsPath)
    expect(page.status).to.equal(200)
    expect(page.text).to.include(postPath)
    const { json } = await client.get(postsPath, { accept: 'json' })
    const ids = json.map(({ id }: Post) => id)
    expect(ids).to.deep.equal([newer.id, post.id])
    const { text } = await client.get(postsPath, { accept: 'xml' })
    expect(text).to.include(`<id>${post.id}</id>`)
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

  it('shows the form again when the post has changed since the form was opened', async () => {
    await client.get(`${postPath}/edit`)
    const page = await client.post(postPath, { form: { _method: 'PUT', ...changes, lock_version: '0' } })
    expect(page.status).to.equal(409)
    expect(page.text).to.include(`name="lock_version" value="${post.lock_version}"`)
  })

  it('returns 412 for the tag of an earlier state in If-Match', async () => {
    const headers = { 'If-Match': '"0"' }
    const response = await client.put(postPath, { json: changes, headers, accept: 'json' })
    expect(response.status).to.equal(412)
  })
})
