import { expect } from 'chai'
import type { Site } from '../../support/site.js'
import { rowsOf } from '../../support/route-rows.js'
import { openExampleBlog } from '../../support/applications/example-blog.js'
import { App, BaseResource, Resource, type Context } from '../../../src/index.js'

describe('The routes of a resource', () => {
  let blog: Awaited<ReturnType<typeof openExampleBlog>>
  let site: Site

  before(async () => {
    blog = await openExampleBlog()
    site = blog.site
  })

  after(() => site.close())

  it('are seven, in mount order, and seven nested ones', () => {
    expect(rowsOf(blog.app)).to.deep.equal([
      'GET / rootPath home',
      'GET /posts postsPath PostsResource.list',
      'POST /posts postsPath PostsResource.create',
      'GET /posts/new newPostsPath PostsResource.new',
      'GET /posts/{post_id} postPath PostsResource.show',
      'PUT /posts/{post_id} postPath PostsResource.update',
      'DELETE /posts/{post_id} postPath PostsResource.destroy',
      'GET /posts/{post_id}/edit editPostPath PostsResource.edit',
      'GET /posts/{post_id}/comments postCommentsPath CommentsResource.list',
      'POST /posts/{post_id}/comments postCommentsPath CommentsResource.create',
      'GET /posts/{post_id}/comments/new newPostCommentsPath CommentsResource.new',
      'GET /posts/{post_id}/comments/{comment_id} postCommentPath CommentsResource.show',
      'PUT /posts/{post_id}/comments/{comment_id} postCommentPath CommentsResource.update',
      'DELETE /posts/{post_id}/comments/{comment_id} postCommentPath CommentsResource.destroy',
      'GET /posts/{post_id}/comments/{comment_id}/edit editPostCommentPath CommentsResource.edit',
    ])
  })

  it('match a path with and without a trailing slash', async () => {
    expect((await site.get('/posts')).status).to.equal(200)
    expect((await site.get('/posts/')).status).to.equal(200)
  })

  it('do not match an unknown path: 404 with any method', async () => {
    expect((await site.get('/nope')).status).to.equal(404)
    expect((await site.post('/nope', { form: { a: '1' } })).status).to.equal(404)
    expect(
      (await site.post('/nope', { body: 'x', headers: { 'content-type': 'text/plain' } })).status,
    ).to.equal(404)
  })

  it('return 405 with Allow for another method, before the body is read', async () => {
    const response = await site.request('PATCH', '/posts', {
      body: 'x',
      headers: { 'content-type': 'text/plain' },
    })
    expect(response.status).to.equal(405)
    expect(response.headers.get('allow')).to.equal('GET, HEAD, POST, OPTIONS')
  })

  it('match DELETE /posts/new as the item "new", which does not exist', async () => {
    expect((await site.delete('/posts/new')).status).to.equal(404)
  })

  it('return 204 and the methods for OPTIONS', async () => {
    const response = await site.request('OPTIONS', '/posts/1')
    expect(response.status).to.equal(204)
    expect(response.headers.get('allow')).to.equal('GET, HEAD, PUT, PATCH, DELETE, OPTIONS')
  })

  it('return the response of GET for HEAD, without the body', async () => {
    const [head, get] = [await site.request('HEAD', '/posts'), await site.get('/posts')]
    expect(head.status).to.equal(200)
    expect(head.text).to.equal('')
    expect(head.headers.get('content-length')).to.equal(get.headers.get('content-length'))
  })

  it('distinguish upper and lower case', async () => {
    expect((await site.get('/Posts')).status).to.equal(404)
  })

  it('match a path with unnecessary percent-encoding', async () => {
    expect((await site.get('/%70osts')).status).to.equal(200)
  })
})

describe('A resource that does not override every handler', () => {
  @Resource('/notes')
  class NotesResource extends BaseResource {
    override show(ctx: Context) {
      ctx.body = `note ${ctx.params['note_id']}`
    }
  }

  let site: Site
  const app = new App()
  app.resource(NotesResource)

  before(async () => {
    const { Site } = await import('../../support/site.js')
    site = await Site.open(app)
  })

  after(() => site.close())

  it('has routes for the five required ones only', () => {
    expect(rowsOf(app)).to.deep.equal([
      'GET /notes notesPath NotesResource.list',
      'POST /notes notesPath NotesResource.create',
      'GET /notes/{note_id} notePath NotesResource.show',
      'PUT /notes/{note_id} notePath NotesResource.update',
      'DELETE /notes/{note_id} notePath NotesResource.destroy',
    ])
  })

  it('returns 404 "resource not implemented" if the default handler runs', async () => {
    for (const [method, path] of [
      ['GET', '/notes'],
      ['POST', '/notes'],
      ['PUT', '/notes/1'],
      ['DELETE', '/notes/1'],
    ] as const) {
      const response = await site.request(method, path, { accept: 'application/json' })
      expect(response.status, `${method} ${path}`).to.equal(404)
      expect(response.json.detail).to.equal('resource not implemented')
    }
  })

  it('matches /notes/new as an item, because there is no form', async () => {
    expect((await site.get('/notes/new')).text).to.equal('note new')
  })
})
