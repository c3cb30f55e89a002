import { expect } from 'chai'
import { openExampleBlog } from '../../support/applications/example-blog.js'
import type { Site } from '../../support/site.js'

describe('The HTML of a resource', () => {
  let blog: Awaited<ReturnType<typeof openExampleBlog>>
  let site: Site

  beforeEach(async () => {
    blog = await openExampleBlog()
    site = blog.site
  })

  afterEach(() => site.close())

  async function createPost(title: string): Promise<string> {
    const response = await site.post('/posts', { form: { title } })
    return response.headers.get('location') ?? ''
  }

  describe('POST /posts', () => {
    it('redirects with 303 to the new post, which shows the flash once', async () => {
      const response = await site.post('/posts', { form: { title: 'Hello', description: 'World' } })
      expect(response.status).to.equal(303)
      const location = response.headers.get('location') ?? ''
      expect(location).to.match(/^\/posts\/[0-9a-f-]{36}$/)

      const shown = await site.get(location)
      expect(shown.status).to.equal(200)
      expect(shown.text).to.contain('The post was created.')
      expect(shown.text).to.contain('Hello').and.to.contain('World')
      expect((await site.get(location)).text).not.to.contain('The post was created.')
    })

    it('returns 422 and shows the form again, with the submitted values, when the title is blank', async () => {
      const response = await site.post('/posts', { form: { title: '  ', description: 'kept <b>' } })
      expect(response.status).to.equal(422)
      expect(response.text).to.contain('New post')
      expect(response.text).to.contain('Title cannot be blank.')
      expect(response.text).to.contain('kept &lt;b&gt;')
      expect(await blog.database.query('SELECT * FROM posts')).to.have.length(0)
    })

    it('reads a multipart form', async () => {
      const body = new FormData()
      body.set('title', 'From a multipart form')
      const response = await site.post('/posts', { form: body })
      expect(response.status).to.equal(303)
      expect((await site.get('/posts')).text).to.contain('From a multipart form')
    })

    it('keeps an empty description as null', async () => {
      await site.post('/posts', { form: { title: 'No description', description: '' } })
      expect(await blog.database.query('SELECT description FROM posts')).to.deep.equal([
        { description: null },
      ])
    })

    it('ignores an id and timestamps from the client', async () => {
      const id = '00000000-0000-7000-8000-000000000000'
      const response = await site.post('/posts', {
        form: { title: 'Mine', id, created_at: '1999-01-01T00:00:00Z' },
      })
      expect(response.headers.get('location')).not.to.contain(id)
      const [post] = (await site.get('/posts', { accept: 'application/json' })).json
      expect(post.created_at).to.be.a('string').that.does.not.contain('1999')
    })
  })

  describe('GET /posts', () => {
    it('shows that the list is empty', async () => {
      const response = await site.get('/posts')
      expect(response.status).to.equal(200)
      expect(response.text).to.contain('class="empty"')
    })

    it('links to show, new and edit, and has a destroy form with a confirmation', async () => {
      const path = await createPost('Linked')
      const { text } = await site.get('/posts')
      expect(text).to.contain(`href="${path}"`)
      expect(text).to.contain('href="/posts/new"')
      expect(text).to.contain(`href="${path}/edit"`)
      expect(text).to.match(new RegExp(`<form[^>]*action="${path}"[^>]*data-confirm=`))
      expect(text).to.contain('name="_method" value="DELETE"')
    })

    it('has a paginator when there are several pages', async () => {
      for (let number = 1; number <= 21; number++) await createPost(`Number ${number}`)
      const first = await site.get('/posts')
      expect(first.text).to.contain('Number 21').and.not.to.contain('Number 1<')
      expect(first.text).to.contain('href="?page=2"')
      const second = await site.get('/posts?page=2')
      expect(second.text).to.contain('Number 1<')
    })
  })

  describe('GET /posts/new', () => {
    it('shows an empty form', async () => {
      const response = await site.get('/posts/new')
      expect(response.status).to.equal(200)
      expect(response.text).to.match(/<form[^>]*action="\/posts"/)
      expect(response.text).to.contain('name="title"')
      expect(response.text).to.match(
        /<textarea[^>]*name="description"[^>]*rows="10"|<textarea[^>]*rows="10"[^>]*name="description"/,
      )
    })
  })

  describe('GET /posts/{post_id}/edit', () => {
    it('shows the form with the post', async () => {
      const path = await createPost('To be edited')
      const response = await site.get(`${path}/edit`)
      expect(response.status).to.equal(200)
      expect(response.text).to.contain('value="To be edited"')
      expect(response.text).to.contain('name="_method" value="PUT"')
    })

    it('returns 404 when the post does not exist', async () => {
      expect((await site.get('/posts/00000000-0000-7000-8000-000000000000/edit')).status).to.equal(404)
    })
  })

  describe('PUT /posts/{post_id}, sent by a form as POST with _method', () => {
    it('redirects with 303 to the post, which shows the flash', async () => {
      const path = await createPost('Before')
      const response = await site.post(path, { form: { _method: 'PUT', title: 'After' } })
      expect(response.status).to.equal(303)
      expect(response.headers.get('location')).to.equal(path)
      expect((await site.get(path)).text)
        .to.contain('After')
        .and.to.contain('The post was updated.')
    })

    it('returns 422 and shows the edit form again', async () => {
      const path = await createPost('Before')
      const response = await site.post(path, { form: { _method: 'PUT', title: '' } })
      expect(response.status).to.equal(422)
      expect(response.text).to.contain('Edit post').and.to.contain('Title cannot be blank.')
      expect((await site.get(path)).text).to.contain('Before')
    })

    it('keeps absent fields', async () => {
      const { headers } = await site.post('/posts', { form: { title: 'Title', description: 'stays' } })
      const path = headers.get('location') ?? ''
      await site.post(path, { form: { _method: 'put', title: 'New title' } })
      expect((await site.get(path)).text).to.contain('stays')
    })

    it('returns 404, not 422, when the post does not exist', async () => {
      const path = '/posts/00000000-0000-7000-8000-000000000000'
      expect((await site.post(path, { form: { _method: 'PUT', title: '' } })).status).to.equal(404)
    })

    it('returns 405 for a POST without _method, and for one with another method', async () => {
      const path = await createPost('Before')
      expect((await site.post(path, { form: { title: 'x' } })).status).to.equal(405)
      expect((await site.post(path, { form: { _method: 'GET', title: 'x' } })).status).to.equal(405)
      expect((await site.post(path, { json: { _method: 'DELETE' } })).status).to.equal(405)
    })
  })

  describe('DELETE /posts/{post_id}, sent by a form as POST with _method', () => {
    it('redirects with 303 to the list, which shows the flash and no longer the post', async () => {
      const path = await createPost('Doomed')
      const response = await site.post(path, { form: { _method: 'DELETE' } })
      expect(response.status).to.equal(303)
      expect(response.headers.get('location')).to.equal('/posts')
      const list = await site.get('/posts')
      expect(list.text).to.contain('The post was deleted.').and.not.to.contain('Doomed')
      expect((await site.get(path)).status).to.equal(404)
    })
  })

  describe('POST with a _method that the path does not have', () => {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'delete']) {
      it(`returns 405 and creates nothing: ${method}`, async () => {
        const response = await site.post('/posts', { form: { _method: method, title: 'Never created' } })
        expect(response.status).to.equal(405)
        expect(response.headers.get('allow')).to.equal('GET, HEAD, POST, OPTIONS')
        expect((await site.get('/posts')).text).not.to.contain('Never created')
      })
    }

    for (const method of ['', 'GET', 'POST', 'TRACE', 'x']) {
      it(`is a POST if _method is ${JSON.stringify(method)}`, async () => {
        const response = await site.post('/posts', { form: { _method: method, title: 'Created' } })
        expect(response.status).to.equal(303)
      })
    }
  })

  it('escapes the text of users', async () => {
    const path = await createPost('<script>alert(1)</script>')
    for (const page of ['/posts', path, `${path}/edit`]) {
      expect((await site.get(page)).text, page).not.to.contain('<script>alert')
    }
  })
})
