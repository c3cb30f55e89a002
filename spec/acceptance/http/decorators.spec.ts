import { expect } from 'chai'
import {
  App,
  BaseResource,
  Parent,
  Resource,
  Route,
  Use,
  type Context,
  type DeclaredRoute,
} from '../../../src/index.js'
import { mark } from '../../support/marks.js'
import { Site } from '../../support/site.js'

/** Responds with everything of the route that both ways of declaring it must have in common. */
function respond(ctx: Context): void {
  const { method, path, name } = ctx.route
  ctx.body = { method, path, name, params: ctx.params }
}

class Responding extends BaseResource {
  override list(ctx: Context) {
    respond(ctx)
  }
  override show(ctx: Context) {
    respond(ctx)
  }
  override new(ctx: Context) {
    respond(ctx)
  }
  override update(ctx: Context) {
    respond(ctx)
  }
}

/** An application with decorators. */
function decorated(): App {
  @Resource('/posts')
  @Use(mark('posts'))
  class PostsResource extends Responding {
    @Route('GET', '/drafts')
    @Route('GET', '/by/{author}', { aliases: ['/from/{author}'] })
    drafts(ctx: Context) {
      respond(ctx)
    }

    @Route('POST', '/{id}/publish')
    @Use(mark('publish'))
    publish(ctx: Context) {
      respond(ctx)
    }

    @Route('GET', '/{id}/files/{*file}', { aliases: ['/{id}/raw/{*file}'] })
    file(ctx: Context) {
      respond(ctx)
    }
  }

  @Resource('/comments')
  @Parent(PostsResource)
  class CommentsResource extends Responding {
    @Route('PUT', '/{comment_id}/approval', { name: 'approveCommentPath' })
    @Route('DELETE', '/{id}/approval')
    approve(ctx: Context) {
      respond(ctx)
    }

    @Route('GET', '/recent')
    recent(ctx: Context) {
      respond(ctx)
    }
  }

  const app = new App({ api: true })
  app.use(mark('app'))
  app.get('/', respond)
  app.resource(PostsResource)
  app.resource(CommentsResource)
  app.group('/admin', (admin) => {
    admin.use(mark('admin'))
    admin.resource('/articles', PostsResource)
  })
  app.host('{tenant}.example.com', (tenant) => tenant.resource(PostsResource))
  return app
}

/** The same application with explicit calls. */
function explicit(): App {
  @Resource('/posts')
  class PostsResource extends Responding {}

  @Resource('/comments')
  class CommentsResource extends Responding {}

  function declarePosts(scope: Pick<App, 'group' | 'resource'>, path: string) {
    const posts = scope.group('/')
    posts.use(mark('posts'))
    posts.get(`${path}/drafts`, respond)
    posts.get(`${path}/by/{author}`, respond, {
      aliases: [`${path}/from/{author}`],
    })
    const post = posts.resource(path, PostsResource)
    post.get('/files/{*file}', respond, { aliases: ['/raw/{*file}'] })
    const publishing = post.group('/')
    publishing.use(mark('publish'))
    publishing.post('/publish', respond)
    return post
  }

  const app = new App({ api: true })
  app.use(mark('app'))
  app.get('/', respond)
  const post = declarePosts(app, '/posts')
  post.get('/comments/recent', respond)
  const comment = post.resource(CommentsResource)
  comment.put('/approval', respond, { name: 'approveCommentPath' })
  comment.delete('/approval', respond)
  app.group('/admin', (admin) => {
    admin.use(mark('admin'))
    declarePosts(admin, '/articles')
  })
  app.host('{tenant}.example.com', (tenant) => declarePosts(tenant, '/posts'))
  return app
}

/** The part of the routing table that does not depend on the way of declaring it. */
function rowsOf(routes: readonly DeclaredRoute[]): string[] {
  const rows = routes.map(({ method, host, path, aliases, name }) =>
    [method, host?.pattern, path, aliases.map((alias) => alias.path).join(', '), name].join(' | '),
  )
  return rows.toSorted()
}

describe('An application with decorators and one with explicit calls', () => {
  it('have the same methods, hosts, paths, aliases and names', () => {
    const rows = rowsOf(decorated().routes)
    expect(rows).to.include('POST |  | /posts/{post_id}/publish |  | postPublishPath')
    expect(rows).to.deep.equal(rowsOf(explicit().routes))
  })

  it('respond alike, and run the same middleware', async () => {
    const responses = [await responsesOf(decorated()), await responsesOf(explicit())]
    expect(responses[0]).to.deep.equal(responses[1])
    expect(responses[0]?.['POST /posts/1/publish']).to.deep.equal({
      status: 200,
      marks: 'app, posts, publish',
      allow: null,
      body: {
        method: 'POST',
        path: '/posts/{post_id}/publish',
        name: 'postPublishPath',
        params: { post_id: '1' },
      },
    })
  })

  const paths = [
    '/',
    '/posts',
    '/posts/new',
    '/posts/drafts',
    '/posts/by/ada',
    '/posts/from/ada',
    '/posts/1',
    '/posts/1/publish',
    '/posts/1/files/a/b',
    '/posts/1/raw/a/b',
    '/posts/1/comments',
    '/posts/1/comments/recent',
    '/posts/1/comments/2/approval',
    '/admin/articles/drafts',
    '/admin/articles/1/publish',
    '/admin/posts',
    '/nope',
  ]

  async function responsesOf(app: App): Promise<Record<string, unknown>> {
    const site = await Site.open(app)
    try {
      const responses: Record<string, unknown> = {}
      for (const path of paths) {
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
          const { status, headers, text } = await site.request(method, path)
          responses[`${method} ${path}`] = {
            status,
            marks: headers.get('x-marks'),
            allow: headers.get('allow'),
            ...(status === 200 && text && { body: JSON.parse(text) }),
          }
        }
      }
      return responses
    } finally {
      await site.close()
    }
  }
})
