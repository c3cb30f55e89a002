import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Pagination } from '../../src/records/lists/pagination.js'
import { ValidationErrors } from '../../src/errors.js'
import { Catalog, frameworkCatalog } from '../../src/translations/catalog.js'
import { Renderer } from '../../src/views/renderer.js'
import { viewHelpers } from '../../src/views/helpers.js'
import { viewContext } from '../support/view-context.js'

const root = join(import.meta.dirname, '../../..')
const attack = '"><script>alert(1)</script>'

interface Item {
  id: string
  post_id?: string
}

class Post {
  id = 'p1'
  title = attack
  description: string | null = attack
  created_at = new Date('2026-05-01T10:00:00Z')
  updated_at = new Date('2026-05-02T10:00:00Z')
}

class Comment {
  id = 'c1'
  post_id = 'p1'
  body = attack
  created_at = new Date('2026-05-01T10:00:00Z')
  updated_at = new Date('2026-05-02T10:00:00Z')
}

const paths = {
  postsPath: () => '/posts',
  newPostsPath: () => '/posts/new',
  postPath: ({ id }: Item) => `/posts/${id}`,
  editPostPath: ({ id }: Item) => `/posts/${id}/edit`,
  postCommentsPath: ({ id }: Item) => `/posts/${id}/comments`,
  newPostCommentsPath: ({ id }: Item) => `/posts/${id}/comments/new`,
  postCommentPath: ({ id, post_id }: Item) => `/posts/${post_id}/comments/${id}`,
  editPostCommentPath: ({ id, post_id }: Item) => `/posts/${post_id}/comments/${id}/edit`,
}

const renderer = new Renderer({ folders: [join(root, 'examples/blog/templates')], cache: true })

const catalog = new Catalog(join(root, 'examples/blog/locales'), { base: frameworkCatalog() })
const t = (id: string, values?: Record<string, unknown>) => catalog.translate('en-US', id, values) ?? id

function page(view: string, locals: Record<string, unknown> = {}): string {
  const flash = [{ type: 'success', message: attack }]
  return renderer.render(view, Object.assign(viewHelpers(viewContext({ paths, flash, t })), locals))
}

const post = new Post()
const comment = new Comment()
const pagination = new Pagination(1, 20, 1)

/** The query of a request without filters. */
const query = {
  model: 'Post',
  fields: [
    { parameter: 'title.prefix', attribute: 'title', operator: 'prefix', kind: 'string' },
    { parameter: 'created_at.gte', attribute: 'created_at', operator: 'gte', kind: 'datetime' },
  ],
  isSearchable: true,
  isFiltered: false,
  others: [['tab', attack]],
  text: () => attack,
  texts: () => [attack],
  value: () => undefined,
  url: () => '?',
  isSortable: () => true,
  ariaSort: () => 'ascending',
}

const views: Record<string, Record<string, unknown>> = {
  home: {},
  'posts/index': { posts: [post], pagination, query },
  'posts/show': { post },
  'posts/new': { post },
  'posts/edit': { post },
  'comments/index': { post, comments: [comment], pagination },
  'comments/show': { post, comment },
  'comments/new': { post, comment },
  'comments/edit': { post, comment },
}

describe('The pages of the blog', () => {
  for (const [view, locals] of Object.entries(views)) {
    describe(view, () => {
      const html = page(view, locals)

      it('escapes text of users', () => {
        expect(html).not.to.contain(attack).and.not.to.contain('<script>alert')
      })

      it('has a language, a title, landmarks and one first-level heading', () => {
        expect(html).to.match(
          /<html lang="en-US">.*<title>[^<]+ &middot; Blog<\/title>.*<header .*<nav .*<main id="content">/s,
        )
        expect(html.match(/<h1>/g)).to.have.length(1)
      })

      it('has neither inline scripts nor inline styles', () => {
        expect(html).not.to.match(/<style|<script(?! src=)|\sstyle=|\son\w+=|javascript:/)
      })

      it('has a label for every field', () => {
        const ids = [...html.matchAll(/<(?:input|textarea|select) id="(\w+)"/g)].map(([, id]) => id)
        for (const id of ids) expect(html).to.contain(`<label for="${id}">`)
      })

      it('has unique ids', () => {
        const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)
        expect(ids).to.deep.equal([...new Set(ids)])
      })

      it('shows the pending flash messages', () => {
        expect(html).to.contain('role="status"><p class="flash success">')
      })

      it('shows no id of a missing translation', () => {
        expect(html).not.to.match(/>\s*kit\.\w+/)
      })
    })
  }

  it('lists records with links to show, new, edit and destroy', () => {
    expect(page('posts/index', { query, posts: [post], pagination }))
      .to.contain('<a class="button primary" href="/posts/new">New post</a>')
      .and.to.contain('<th scope="row"><a href="/posts/p1">')
      .and.to.contain('<a href="/posts/p1/edit">Edit</a>')
      .and.to.match(
        /<form action="\/posts\/p1" method="post" data-confirm="[^"]+">\s*<input type="hidden" name="_method" value="DELETE">/,
      )
  })

  it('shows a message if a list is empty', () => {
    const html = page('posts/index', { query, posts: [], pagination: new Pagination(1, 20, 0) })
    expect(html).to.contain('There is nothing here yet.').and.not.to.contain('<table')
  })

  it('shows the paginator if there are several pages', () => {
    const html = page('posts/index', { query, posts: [post], pagination: new Pagination(1, 20, 21) })
    expect(html).to.contain('<nav class="pagination"')
  })

  it('submits a new post to the list and an edited post to its own path', () => {
    expect(page('posts/new', { post }))
      .to.contain('<form action="/posts" method="post">')
      .and.not.to.contain('_method')
    expect(page('posts/edit', { post })).to.contain(
      '<form action="/posts/p1" method="post"><input type="hidden" name="_method" value="PUT">',
    )
  })

  it('shows a failed form with its errors and the submitted values', () => {
    const errors = new ValidationErrors().add('title', 'present', 'Title cannot be blank.')
    expect(page('posts/new', { post: { ...post, title: '', description: 'kept' }, errors }))
      .to.contain('role="alert"')
      .and.to.contain('aria-invalid="true"')
      .and.to.contain('>\nkept</textarea>')
  })

  it('shows comments below their post', () => {
    expect(page('comments/index', { post, comments: [comment], pagination }))
      .to.contain('href="/posts/p1/comments/new"')
      .and.to.contain('href="/posts/p1/comments/c1"')
      .and.to.contain('href="/posts/p1/comments/c1/edit"')
    expect(page('comments/new', { post, comment: {} })).to.contain(
      '<form action="/posts/p1/comments" method="post">',
    )
    expect(page('comments/edit', { post, comment })).to.contain(
      '<form action="/posts/p1/comments/c1" method="post">',
    )
  })
})

describe('The error page', () => {
  const { t, locale } = viewHelpers(viewContext())

  it('explains the error to visitors, with the detail and the id of the request', () => {
    expect(
      renderer.render('error', {
        t,
        locale,
        status: 404,
        title: 'Not Found',
        detail: attack,
        requestId: 'r1',
      }),
    )
      .to.contain('<h1>There is nothing here</h1>')
      .and.to.contain('The page may have moved')
      .and.to.contain('&lt;script&gt;alert(1)')
      .and.to.contain('<code>r1</code>')
      .and.to.contain('<a class="button" href="/">Go to the home page</a>')
      .and.not.to.contain(attack)
  })

  it('has a general text for a status without its own text', () => {
    const words = {
      402: 'That did not work',
      418: 'That did not work',
      504: 'Something went wrong on our side',
    }
    for (const [status, title] of Object.entries(words)) {
      const page = renderer.render('error', { t, locale, status: Number(status), title: 'plain' })
      expect(page)
        .to.contain(`<h1>${title}</h1>`)
        .and.to.match(/<p class="lead">[^<]+\.<\/p>/)
    }
  })

  it('is laid out from right to left in such a language', () => {
    const page = renderer.render('error', { locale: 'ar', dir: 'rtl', status: 500, title: 'Error' })
    expect(page).to.contain('<html lang="ar" dir="rtl">')
  })

  it('needs no helpers', () => {
    expect(renderer.render('error', { status: 500, title: 'Internal Server Error' }))
      .to.contain('<html lang="en">')
      .and.to.contain('<h1>Internal Server Error</h1>')
      .and.to.contain('Go to the home page')
  })

  for (const status of [400, 403, 404, 405, 406, 409, 413, 415, 422, 500, 503]) {
    it(`has a text for ${status}`, () => {
      expect(t(`error.${status}.title`)).not.to.equal(`error.${status}.title`)
      expect(t(`error.${status}.message`)).not.to.equal(`error.${status}.message`)
    })
  }
})

describe('The error page of development', () => {
  const html = renderer.render('development_error', {
    status: 500,
    title: 'Internal Server Error',
    requestId: 'r1',
    error: {
      name: 'TypeError',
      message: attack,
      stack: `TypeError: ${attack}\n    at show (/blog/src/actions/posts.ts:1:1)\n    at x (/blog/node_modules/koa/a.js:1:1)`,
    },
    request: { method: 'GET', path: '/posts/1', params: { post_id: attack }, query: {}, body: undefined },
    routes: [{ method: 'GET', path: '/posts', name: 'postsPath', handler: 'PostsResource.list' }],
  })

  it('shows the error, and marks the lines of the stack in the application’s own code', () => {
    expect(html)
      .to.contain('<h1>TypeError</h1>')
      .and.to.contain('<li class="own"><code>at show (/blog/src/actions/posts.ts:1:1)</code></li>')
      .and.to.contain('<li class="library"><code>at x (/blog/node_modules/koa/a.js:1:1)</code></li>')
  })

  it('shows the request and the routes', () => {
    expect(html)
      .to.contain('<strong>GET</strong> <code>/posts/1</code>')
      .and.to.contain('<h3>Path parameters</h3>')
      .and.to.contain('<td>GET</td><td><code>/posts</code></td><td>postsPath</td><td>PostsResource.list</td>')
      .and.not.to.contain('<h3>Query</h3>')
  })

  it('escapes everything, and has no inline style', () => {
    expect(html)
      .not.to.contain(attack)
      .and.not.to.match(/<style|\sstyle=/)
  })

  it('can be shown without an error, a request and routes', () => {
    expect(
      renderer.render('development_error', { status: 404, title: 'Not Found', detail: 'post not found' }),
    )
      .to.contain('<h1>Not Found</h1>')
      .and.to.contain('post not found')
  })
})

describe('The style sheets', () => {
  it('use the same colors', () => {
    expect(colorsOf('assets/public/kit.css'))
      .to.be.a('string')
      .and.to.equal(colorsOf('examples/blog/public/application.css'))
  })
})

/** The rules that set the colors of light and of dark screens. */
function colorsOf(file: string): string | undefined {
  return /:root \{[^]*?\n\}\n\n@media[^]*?\n\}\n/.exec(readFileSync(join(root, file), 'utf8'))?.[0]
}
