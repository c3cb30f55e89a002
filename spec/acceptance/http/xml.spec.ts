import { expect } from 'chai'
import { openExampleBlog } from '../../support/applications/example-blog.js'
import type { Site } from '../../support/site.js'

const accept = 'application/xml'

describe('The XML of a resource', () => {
  let blog: Awaited<ReturnType<typeof openExampleBlog>>
  let site: Site

  beforeEach(async () => {
    blog = await openExampleBlog()
    site = blog.site
  })

  afterEach(() => site.close())

  function element(text: string, name: string): string | undefined {
    return new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1]
  }

  it('POST /posts reads a document and returns 201 with one', async () => {
    const xml = '<?xml version="1.0"?><post><title>A &amp; B</title><description nil="true"/></post>'
    const response = await site.post('/posts', { accept, xml })
    expect(response.status).to.equal(201)
    expect(response.headers.get('content-type')).to.equal('application/xml; charset=utf-8')
    expect(response.text).to.match(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n<post>.*<id>/)
    expect(element(response.text, 'title')).to.equal('A &amp; B')
    expect(response.text).to.contain('<description nil="true"/>')
    expect(element(response.text, 'created_at')).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(response.headers.get('location')).to.equal(`/posts/${element(response.text, 'id')}`)
  })

  it('GET /posts returns a list, also an empty one', async () => {
    expect((await site.get('/posts', { accept })).text).to.contain('<posts/>')
    for (const title of ['one', 'two']) await site.post('/posts', { json: { title } })
    const { text } = await site.get('/posts', { accept })
    expect(text).to.match(/<posts><post><id>.*<\/post><post>.*<title>one<\/title>.*<\/post><\/posts>/)
  })

  it('PUT and DELETE return 200 with the record', async () => {
    const id = element(
      (await site.post('/posts', { accept, xml: '<post><title>Old</title></post>' })).text,
      'id',
    )
    const changed = await site.put(`/posts/${id}`, { accept, xml: '<post><title>New</title></post>' })
    expect(changed.status).to.equal(200)
    expect(element(changed.text, 'title')).to.equal('New')
    const deleted = await site.delete(`/posts/${id}`, { accept })
    expect(deleted.status).to.equal(200)
    expect(element(deleted.text, 'id')).to.equal(id)
    expect((await site.get(`/posts/${id}`, { accept })).status).to.equal(404)
  })

  it('create returns 422 with the messages by field, as a problem document', async () => {
    const response = await site.post('/posts', { accept, xml: '<post><title> </title></post>' })
    expect(response.status).to.equal(422)
    expect(response.headers.get('content-type')).to.contain('application/problem+xml')
    expect(response.text).to.contain('<problem xmlns="urn:ietf:rfc:7807"><status>422</status>')
    expect(response.text).to.contain(
      '<errors><title><message>Title cannot be blank.</message></title></errors>',
    )
  })

  it('show returns 404 as a problem document', async () => {
    const response = await site.get('/posts/nope', { accept })
    expect(response.status).to.equal(404)
    expect(element(response.text, 'detail')).to.equal('Post not found.')
  })

  it('the response is XML if the body is XML and the client accepts any format', async () => {
    const response = await site.post('/posts', { accept: '*/*', xml: '<post><title>Hello</title></post>' })
    expect(response.headers.get('content-type')).to.contain('application/xml')
  })
})
