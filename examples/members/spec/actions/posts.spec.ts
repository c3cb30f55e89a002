import { expect } from 'chai'
import { Post } from '../../src/models/post.js'
import { client, factory, isolate } from '../support/app.js'
import { makeUser, signIn, signOut } from '../support/users.js'

describe('PostsResource', () => {
  isolate()

  const values = {
    title: 'First',
    body: 'First line',
  }
  const changes = {
    title: 'Second',
    body: 'Second line',
  }
  const form = {
    title: 'First',
    body: 'First line',
  }
  let record: Post
  const path = '/posts'
  let item: string

  before(async () => {
    const owner = await makeUser()
    await signIn(client, owner)
    record = await factory.make(Post, { user_id: owner.id })
    item = `${path}/${record.id}`
  })

  it('returns 404 to others, and is not shown to visitors', async () => {
    await signOut(client)
    for (const accept of ['html', 'json', 'xml']) {
      expect((await client.get(item, { accept })).status).to.equal(accept === 'html' ? 303 : 401)
    }
    await signIn(client, await makeUser())
    for (const accept of ['html', 'json', 'xml']) {
      expect((await client.get(item, { accept })).status).to.equal(404)
      expect((await client.put(item, { json: changes, accept })).status).to.equal(404)
      expect((await client.delete(item, { accept })).status).to.equal(404)
      expect((await client.get(path, { accept })).text).to.not.include(record.id)
    }
  })

  it('lists posts, newest first, as HTML, JSON and XML', async () => {
    const newer = await factory.make(Post, { user_id: record.user_id })
    const page = await client.get(path)
    expect(page.status).to.equal(200)
    expect(page.text).to.include(item)
    const json = await client.get(path, { accept: 'json' })
    expect(json.json.map((listed: Post) => listed.id)).to.deep.equal([newer.id, record.id])
    const xml = await client.get(path, { accept: 'xml' })
    expect(xml.text).to.include(`<id>${record.id}</id>`)
  })

  it('shows a post as HTML, JSON and XML', async () => {
    const page = await client.get(item)
    expect(page.status).to.equal(200)
    const json = await client.get(item, { accept: 'json' })
    expect(json.json.id).to.equal(record.id)
    const xml = await client.get(item, { accept: 'xml' })
    expect(xml.text).to.include(`<id>${record.id}</id>`)
  })

  it('returns 404 for a post that does not exist', async () => {
    const response = await client.get(`${path}/unknown`, { accept: 'json' })
    expect(response.status).to.equal(404)
  })

  it('shows the form for a new post', async () => {
    const page = await client.get(`${path}/new`)
    expect(page.status).to.equal(200)
    expect(page.text).to.include('<form')
  })

  it('creates a post from a form and redirects to its page', async () => {
    await client.get(`${path}/new`)
    const response = await client.post(path, { form: form })
    expect(response.status).to.equal(303)
    const page = await client.get(response.location)
    expect(page.status).to.equal(200)
    expect(page.text).to.include('Post was created successfully.')
  })

  it('creates a post from JSON', async () => {
    const response = await client.post(path, { json: values, accept: 'json' })
    expect(response.status).to.equal(201)
    expect(response.json).to.deep.include(values)
    expect(response.location).to.equal(`${path}/${response.json.id}`)
  })

  it('creates a post from XML', async () => {
    const xml = { post: form }
    const response = await client.post(path, { xml, accept: 'xml' })
    expect(response.status).to.equal(201)
    expect(response.text).to.include('<post>')
  })

  it('shows the form again when title is missing', async () => {
    await client.get(`${path}/new`)
    const page = await client.post(path, { form: {} })
    expect(page.status).to.equal(422)
    expect(page.text).to.include('<form')
  })

  it('returns 422 for JSON without title', async () => {
    const response = await client.post(path, { json: {}, accept: 'json' })
    expect(response.status).to.equal(422)
    expect(response.json.errors).to.have.property('title')
  })

  it('shows the form to edit a post', async () => {
    const page = await client.get(`${path}/${record.id}/edit`)
    expect(page.status).to.equal(200)
    expect(page.text).to.include('<form')
  })

  it('updates a post from a form and redirects to its page', async () => {
    await client.get(`${path}/${record.id}/edit`)
    const response = await client.post(item, { form: { _method: 'PUT', ...form } })
    expect(response.status).to.equal(303)
    expect(response.location).to.equal(item)
  })

  it('updates a post from JSON', async () => {
    const response = await client.put(item, { json: changes, accept: 'json' })
    expect(response.status).to.equal(200)
    expect(response.json).to.deep.include(changes)
  })

  it('destroys a post from a form and redirects to the list', async () => {
    await client.get(item)
    const response = await client.post(item, { form: { _method: 'DELETE' } })
    expect(response.status).to.equal(303)
    expect(response.location).to.equal(path)
    expect((await client.get(item)).status).to.equal(404)
  })

  it('destroys a post and returns it as JSON', async () => {
    const response = await client.delete(item, { accept: 'json' })
    expect(response.status).to.equal(200)
    expect(response.json.id).to.equal(record.id)
  })

  it('shows the form again when the post has changed since the form was opened', async () => {
    await client.get(`${item}/edit`)
    const fields = { _method: 'PUT', ...form, lock_version: '0' }
    const page = await client.post(item, { form: fields })
    expect(page.status).to.equal(409)
    expect(page.text).to.include(`name="lock_version" value="${record.lock_version}"`)
  })

  it('returns 412 for the tag of an earlier state in If-Match', async () => {
    const headers = { 'If-Match': '"0"' }
    const response = await client.put(item, { json: changes, headers, accept: 'json' })
    expect(response.status).to.equal(412)
  })
})
