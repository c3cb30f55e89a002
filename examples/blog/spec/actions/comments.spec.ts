import { expect } from 'chai'
import { Comment } from '../../src/models/comment.js'
import { Post } from '../../src/models/post.js'
import { client, factory, isolate } from '../support/app.js'

describe('CommentsResource', () => {
  isolate()

  const values = {
    body: 'First line',
  }
  const changes = {
    body: 'Second line',
  }
  const form = {
    body: 'First line',
  }
  let record: Comment
  let path: string
  let item: string

  before(async () => {
    const parentPost = await factory.make(Post)
    record = await factory.make(Comment, { post_id: parentPost.id })
    path = `/posts/${parentPost.id}/comments`
    item = `${path}/${record.id}`
  })

  it('lists comments, newest first, as HTML, JSON and XML', async () => {
    const newer = await factory.make(Comment, { post_id: record.post_id })
    const page = await client.get(path)
    expect(page.status).to.equal(200)
    expect(page.text).to.include(item)
    const json = await client.get(path, { accept: 'json' })
    expect(json.json.map((listed: Comment) => listed.id)).to.deep.equal([newer.id, record.id])
    const xml = await client.get(path, { accept: 'xml' })
    expect(xml.text).to.include(`<id>${record.id}</id>`)
  })

  it('shows a comment as HTML, JSON and XML', async () => {
    const page = await client.get(item)
    expect(page.status).to.equal(200)
    const json = await client.get(item, { accept: 'json' })
    expect(json.json.id).to.equal(record.id)
    const xml = await client.get(item, { accept: 'xml' })
    expect(xml.text).to.include(`<id>${record.id}</id>`)
  })

  it('returns 404 for a comment that does not exist', async () => {
    const response = await client.get(`${path}/unknown`, { accept: 'json' })
    expect(response.status).to.equal(404)
  })

  it('shows the form for a new comment', async () => {
    const page = await client.get(`${path}/new`)
    expect(page.status).to.equal(200)
    expect(page.text).to.include('<form')
  })

  it('creates a comment from a form and redirects to its page', async () => {
    await client.get(`${path}/new`)
    const response = await client.post(path, { form: form })
    expect(response.status).to.equal(303)
    const page = await client.get(response.location)
    expect(page.status).to.equal(200)
    expect(page.text).to.include('Comment was created successfully.')
  })

  it('creates a comment from JSON', async () => {
    const response = await client.post(path, { json: values, accept: 'json' })
    expect(response.status).to.equal(201)
    expect(response.json).to.deep.include(values)
    expect(response.location).to.equal(`${path}/${response.json.id}`)
  })

  it('creates a comment from XML', async () => {
    const xml = { comment: form }
    const response = await client.post(path, { xml, accept: 'xml' })
    expect(response.status).to.equal(201)
    expect(response.text).to.include('<comment>')
  })

  it('shows the form again when body is missing', async () => {
    await client.get(`${path}/new`)
    const page = await client.post(path, { form: {} })
    expect(page.status).to.equal(422)
    expect(page.text).to.include('<form')
  })

  it('returns 422 for JSON without body', async () => {
    const response = await client.post(path, { json: {}, accept: 'json' })
    expect(response.status).to.equal(422)
    expect(response.json.errors).to.have.property('body')
  })

  it('shows the form to edit a comment', async () => {
    const page = await client.get(`${path}/${record.id}/edit`)
    expect(page.status).to.equal(200)
    expect(page.text).to.include('<form')
  })

  it('updates a comment from a form and redirects to its page', async () => {
    await client.get(`${path}/${record.id}/edit`)
    const response = await client.post(item, { form: { _method: 'PUT', ...form } })
    expect(response.status).to.equal(303)
    expect(response.location).to.equal(item)
  })

  it('updates a comment from JSON', async () => {
    const response = await client.put(item, { json: changes, accept: 'json' })
    expect(response.status).to.equal(200)
    expect(response.json).to.deep.include(changes)
  })

  it('destroys a comment from a form and redirects to the list', async () => {
    await client.get(item)
    const response = await client.post(item, { form: { _method: 'DELETE' } })
    expect(response.status).to.equal(303)
    expect(response.location).to.equal(path)
    expect((await client.get(item)).status).to.equal(404)
  })

  it('destroys a comment and returns it as JSON', async () => {
    const response = await client.delete(item, { accept: 'json' })
    expect(response.status).to.equal(200)
    expect(response.json.id).to.equal(record.id)
  })
})
