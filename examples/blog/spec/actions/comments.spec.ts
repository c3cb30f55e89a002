import { expect } from 'chai'
import { Comment } from '../../src/models/comment.js'
import { Post } from '../../src/models/post.js'
import { client, factory, isolate } from '../support/app.js'

describe('CommentsResource', () => {
  // Undoes what a test changes.
  isolate()

  const values = { body: 'First line' }
  const changes = { body: 'Second line' }
  let comment: Comment
  let postCommentsPath: string
  let postCommentPath: string

  before(async () => {
    const post = await factory.make(Post)
    comment = await factory.make(Comment, { post_id: post.id })
    postCommentsPath = `/posts/${post.id}/comments`
    postCommentPath = `${postCommentsPath}/${comment.id}`
  })

  it('lists comments, newest first, as HTML, JSON and XML', async () => {
    const newer = await factory.make(Comment, { post_id: comment.post_id })
    const page = await client.get(postCommentsPath)
    expect(page.status).to.equal(200)
    expect(page.text).to.include(postCommentPath)
    const { json } = await client.get(postCommentsPath, { accept: 'json' })
    const ids = json.map(({ id }: Comment) => id)
    expect(ids).to.deep.equal([newer.id, comment.id])
    const { text } = await client.get(postCommentsPath, { accept: 'xml' })
    expect(text).to.include(`<id>${comment.id}</id>`)
  })

  it('shows a comment as HTML, JSON and XML', async () => {
    const page = await client.get(postCommentPath)
    expect(page.status).to.equal(200)
    const { json } = await client.get(postCommentPath, { accept: 'json' })
    expect(json.id).to.equal(comment.id)
    const { text } = await client.get(postCommentPath, { accept: 'xml' })
    expect(text).to.include(`<id>${comment.id}</id>`)
  })

  it('returns 404 for a comment that does not exist', async () => {
    const response = await client.get(`${postCommentsPath}/unknown`, { accept: 'json' })
    expect(response.status).to.equal(404)
  })

  it('shows the form for a new comment', async () => {
    const page = await client.get(`${postCommentsPath}/new`)
    expect(page.status).to.equal(200)
    expect(page.text).to.include('<form')
  })

  it('creates a comment from a form and redirects to its page', async () => {
    // The page contains a token, which the client sends with the form.
    await client.get(`${postCommentsPath}/new`)
    const response = await client.post(postCommentsPath, { form: values })
    expect(response.status).to.equal(303)
    const page = await client.get(response.location)
    expect(page.status).to.equal(200)
    expect(page.text).to.include('Comment was created successfully.')
  })

  it('creates a comment from JSON', async () => {
    const response = await client.post(postCommentsPath, { json: values, accept: 'json' })
    expect(response.status).to.equal(201)
    expect(response.json).to.deep.include(values)
    expect(response.location).to.equal(`${postCommentsPath}/${response.json.id}`)
  })

  it('creates a comment from XML', async () => {
    const xml = { comment: values }
    const response = await client.post(postCommentsPath, { xml, accept: 'xml' })
    expect(response.status).to.equal(201)
    expect(response.text).to.include('<comment>')
  })

  it('shows the form again when body is missing', async () => {
    await client.get(`${postCommentsPath}/new`)
    const page = await client.post(postCommentsPath, { form: {} })
    expect(page.status).to.equal(422)
    expect(page.text).to.include('<form')
  })

  it('returns 422 for JSON without body', async () => {
    const response = await client.post(postCommentsPath, { json: {}, accept: 'json' })
    expect(response.status).to.equal(422)
    expect(response.json.errors).to.have.property('body')
  })

  it('shows the form to edit a comment', async () => {
    const page = await client.get(`${postCommentPath}/edit`)
    expect(page.status).to.equal(200)
    expect(page.text).to.include('<form')
  })

  it('updates a comment from a form and redirects to its page', async () => {
    await client.get(`${postCommentPath}/edit`)
    const response = await client.post(postCommentPath, { form: { _method: 'PUT', ...changes } })
    expect(response.status).to.equal(303)
    expect(response.location).to.equal(postCommentPath)
  })

  it('updates a comment from JSON', async () => {
    const response = await client.put(postCommentPath, { json: changes, accept: 'json' })
    expect(response.status).to.equal(200)
    expect(response.json).to.deep.include(changes)
  })

  it('destroys a comment from a form and redirects to the list', async () => {
    await client.get(postCommentPath)
    const response = await client.post(postCommentPath, { form: { _method: 'DELETE' } })
    expect(response.status).to.equal(303)
    expect(response.location).to.equal(postCommentsPath)
    const page = await client.get(postCommentPath)
    expect(page.status).to.equal(404)
  })

  it('destroys a comment and returns it as JSON', async () => {
    const response = await client.delete(postCommentPath, { accept: 'json' })
    expect(response.status).to.equal(200)
    expect(response.json.id).to.equal(comment.id)
  })
})
