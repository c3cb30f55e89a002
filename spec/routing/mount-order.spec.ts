import { expect } from 'chai'
import {
  App,
  BaseResource,
  Parent,
  Resource,
  Route,
  type Context,
  type DeclaredRoute,
} from '../../src/index.js'
import { DeclarationError } from '../../src/errors.js'
import { captureLog } from '../../src/testing/index.js'
import { failure } from '../support/failure.js'

function rowsOf(routes: readonly DeclaredRoute[]): string[] {
  return routes.map(({ method, host, path, handlerName }) =>
    [method, (host?.pattern ?? '') + path, handlerName].join(' '),
  )
}

class A extends BaseResource {
  override edit(_ctx: Context) {}
  override new(_ctx: Context) {}

  @Route('POST', '/{id}/a2')
  a2(_ctx: Context) {}

  @Route('GET', '/a1')
  a1(_ctx: Context) {}
}

class B extends A {
  @Route('GET', '/b1')
  b1(_ctx: Context) {}

  override a1(_ctx: Context) {}

  @Route('POST', '/{id}/b2')
  @Route('DELETE', '/{id}/b2')
  b2(_ctx: Context) {}
}

@Resource('/posts')
class C extends B {
  @Route('PUT', '/{post_id}/c2')
  c2(_ctx: Context) {}

  @Route('PATCH', '/{post_id}')
  patch(_ctx: Context) {}

  @Route('DELETE', '/')
  clear(_ctx: Context) {}

  @Route('GET', '/c1/{page}')
  c1(_ctx: Context) {}

  @Route('POST', '/{id}/changed')
  override a2(_ctx: Context) {}
}

@Resource('/comments')
@Parent(C)
class D extends BaseResource {
  @Route('POST', '/{comment_id}/approve')
  approve(_ctx: Context) {}

  @Route('GET', '/recent')
  recent(_ctx: Context) {}
}

const mounted = [
  'GET /posts C.list',
  'POST /posts C.create',
  'GET /posts/a1 C.a1',
  'GET /posts/b1 C.b1',
  'GET /posts/c1/{page} C.c1',
  'GET /posts/new C.new',
  'GET /posts/{post_id} C.show',
  'PATCH /posts/{post_id} C.patch',
  'PUT /posts/{post_id} C.update',
  'DELETE /posts/{post_id} C.destroy',
  'GET /posts/{post_id}/edit C.edit',
  'POST /posts/{post_id}/changed C.a2',
  'POST /posts/{post_id}/b2 C.b2',
  'DELETE /posts/{post_id}/b2 C.b2',
  'PUT /posts/{post_id}/c2 C.c2',
  'DELETE /posts C.clear',
]

const nested = [
  'GET /posts/{post_id}/comments D.list',
  'POST /posts/{post_id}/comments D.create',
  'GET /posts/{post_id}/comments/recent D.recent',
  'GET /posts/{post_id}/comments/{comment_id} D.show',
  'PUT /posts/{post_id}/comments/{comment_id} D.update',
  'DELETE /posts/{post_id}/comments/{comment_id} D.destroy',
  'POST /posts/{post_id}/comments/{comment_id}/approve D.approve',
]

/** The same rows below a prefix or on a host. */
function below(prefix: string, rows: readonly string[]): string[] {
  return rows.map((row) => row.replace(' /', ` ${prefix}/`))
}

describe('The routes of a resource', () => {
  it('have collection routes before new and show, PATCH before update, and all others last; the base class first', () => {
    const app = new App()
    app.resource(C)
    expect(rowsOf(app.routes)).to.deep.equal(mounted)
  })

  it('have the same order below a parent', () => {
    const app = new App()
    app.resource(C)
    app.resource(D)
    expect(rowsOf(app.routes)).to.deep.equal([...mounted, ...nested])
  })

  it('have the same order in groups and on virtual hosts, each time the class is mounted', () => {
    const app = new App()
    app.resource(C)
    app.group('/admin', (admin) => {
      admin.resource(C)
      admin.resource(D)
    })
    app.host('{tenant}.example.com', (tenant) => tenant.resource(C))
    expect(rowsOf(app.routes)).to.deep.equal([
      ...mounted,
      ...below('/admin', [...mounted, ...nested]),
      ...below('{tenant}.example.com', mounted),
    ])
  })

  it('do not shadow each other', async () => {
    const log = captureLog()
    const app = new App({ api: true, logger: log.logger })
    app.resource(C)
    app.resource(D)
    await app.start()
    await app.close()
    expect(log.lines).to.deep.equal([])
  })

  it('are matched in this order', () => {
    const app = new App()
    app.resource(C)
    const handlerOf = (method: string, path: string) => app.match(method, path)?.route.handlerName
    expect(handlerOf('GET', '/posts/a1')).to.equal('C.a1')
    expect(handlerOf('HEAD', '/posts/a1')).to.equal('C.a1')
    expect(handlerOf('GET', '/posts/a2')).to.equal('C.show')
    expect(handlerOf('PATCH', '/posts/1')).to.equal('C.patch')
    expect(handlerOf('PUT', '/posts/1')).to.equal('C.update')
    expect(handlerOf('DELETE', '/posts')).to.equal('C.clear')
    expect(handlerOf('PATCH', '/posts/1/c2')).to.equal(undefined)
  })

  it('send a PATCH to update unless a @Route matches it', () => {
    const app = new App()
    app.resource('/posts', B)
    expect(app.match('PATCH', '/posts/1')?.route.handlerName).to.equal('B.update')
  })
})

describe('The warning about a shadowed route', () => {
  it('names a decorated route that an earlier one shadows', async () => {
    @Resource('/notes')
    class NotesResource extends BaseResource {
      @Route('GET', '/by/{author}')
      byAuthor(_ctx: Context) {}

      @Route('GET', '/by/{editor}')
      byEditor(_ctx: Context) {}
    }
    const log = captureLog()
    const app = new App({ api: true, logger: log.logger })
    app.resource(NotesResource)
    await app.start()
    await app.close()
    expect(log.lines.map(({ msg }) => msg)).to.deep.equal([
      'GET /notes/by/{editor} (NotesResource.byEditor) is never reached: ' +
        'GET /notes/by/{author} (NotesResource.byAuthor) is declared before it and matches the same requests.',
    ])
  })

  it('does not report a method with @Route as a misspelled handler', async () => {
    @Resource('/notes')
    class NotesResource extends BaseResource {
      @Route('GET', '/news')
      news(_ctx: Context) {}
    }
    const log = captureLog()
    const app = new App({ api: true, logger: log.logger })
    app.resource(NotesResource)
    await app.start()
    await app.close()
    expect(log.lines).to.deep.equal([])
  })
})

describe('Two resources at one path', () => {
  const start = async (declare: (app: App) => void): Promise<void> => {
    const app = new App({ api: true, logger: captureLog().logger })
    declare(app)
    await app.start()
    await app.close()
  }

  @Resource('/tasks')
  class TasksResource extends BaseResource {
    override list(_ctx: Context) {}
  }

  @Resource('/tasks')
  class TodosResource extends BaseResource {
    override create(_ctx: Context) {}
  }

  it('stop the start', async () => {
    const error = await failure(
      start((app) => [TasksResource, TodosResource].forEach((it) => app.resource(it))),
    )
    expect(error)
      .to.be.an.instanceOf(DeclarationError)
      .with.property(
        'message',
        'Two resources are declared at /tasks: TasksResource and TodosResource. No request reaches the second one. ' +
          'Remove one of them, or give it another path.',
      )
  })

  it('stop the start if they are of one class', async () => {
    const error = await failure(
      start((app) => [TasksResource, TasksResource].forEach((it) => app.resource(it))),
    )
    expect(String(error)).to.contain(
      'Two resources are declared at /tasks: TasksResource and the same class again.',
    )
  })

  it('may have different hosts or parents', () =>
    start((app) => {
      app.host('api.example.com').resource(TasksResource)
      app.resource(TasksResource)
      app.resource('/admin/tasks', TasksResource)
    }))
})
