import { expect } from 'chai'
import { injectable } from 'tsyringe'
import { App, DeclarationError, type Context, type Extension, type Middleware } from '../../src/index.js'
import { Site } from '../support/site.js'

/** An extension as a user writes it: it counts the requests of what is declared below it. */
function visitors(): Extension & { count: number } {
  const extension = {
    name: 'visitors',
    count: 0,
    middleware: async (_ctx: Context, next: () => Promise<void>) => {
      extension.count += 1
      await next()
    },
    members: { visitors: { get: () => extension.count } },
  }
  return extension
}

const show = (ctx: Context) => void (ctx.body = `visitor ${Reflect.get(ctx, 'visitors')}`)

describe('app.extend', () => {
  let site: Site | undefined

  afterEach(async () => {
    await site?.close()
    site = undefined
  })

  it('adds the middleware of an extension to what is declared below it, and its members to all requests', async () => {
    const app = new App({ env: 'test' })
    app.get('/above', show)
    app.extend(visitors())
    app.get('/below', show)
    site = await Site.open(app)
    expect((await site.get('/below')).text).to.equal('visitor 1')
    expect((await site.get('/below')).text).to.equal('visitor 2')
    expect((await site.get('/above')).text).to.equal('visitor 2')
  })

  it('does nothing twice if it gets the same extension twice', async () => {
    const app = new App({ env: 'test' })
    const calls: string[] = []
    const extension: Extension = {
      ...visitors(),
      declare: () => void calls.push('declare'),
      start: async () => void calls.push('start'),
    }
    app.extend(extension, extension)
    app.group('/inner', (group) => group.extend(extension))
    await app.start()
    await app.close()
    expect(calls).to.deep.equal(['declare', 'start'])
  })

  it('rejects a second extension of the same name', () => {
    const app = new App({ env: 'test' }).extend(visitors())
    expect(() => app.extend(visitors())).to.throw(
      DeclarationError,
      'The application has two extensions with the name visitors. Remove one of the two calls of extend(), or give both the same object.',
    )
  })

  it('finds an extension by the function that has created it', () => {
    const app = new App({ env: 'test' })
    expect(app.extension(visitors)).to.equal(undefined)
    const extension = visitors()
    app.extend(extension)
    expect(app.extension(visitors)).to.equal(extension)
  })

  it('lets an extension declare routes in a group, in the declared order', async () => {
    const app = new App({ env: 'test' })
    const greeting = (name: string): Extension => ({
      name: 'greeting',
      declare: (scope) => void scope.get('/hello', (ctx: Context) => void (ctx.body = `Hello ${name}`)),
    })
    app.extend(greeting('all'))
    app.group('/deep', (group) => group.extend(greeting('deep')))
    app.get('/hello', (ctx: Context) => void (ctx.body = 'too late'))
    site = await Site.open(app)
    expect((await site.get('/hello')).text).to.equal('Hello all')
    expect((await site.get('/deep/hello')).text).to.equal('Hello deep')
  })

  it('checks the dependencies of the classes that an extension injects', () => {
    @injectable()
    class Report {
      constructor(readonly rows: string) {}
    }
    const app = new App({ env: 'test' })
    expect(() => app.extend({ name: 'reports', injects: [Report] })).to.throw(DeclarationError, 'Report')
  })

  it('passes all routes to the checks of an extension without a middleware, and else those that run it', async () => {
    const checked: string[][] = []
    const checkRoutes: Extension['checkRoutes'] = async (routes) =>
      void checked.push(routes.map(({ path }) => path))
    const app = new App({ env: 'test' })
    app.get('/above', show)
    app.extend({ name: 'all', checkRoutes })
    app.extend({ ...visitors(), checkRoutes })
    app.get('/below', show)
    await app.start()
    await app.close()
    expect(checked).to.deep.equal([['/above', '/below'], ['/below']])
  })

  it('rejects a middleware, and app.use an extension, with the method that takes it', () => {
    const app = new App({ env: 'test' })
    const middleware: Middleware = function audit(_ctx, next) {
      return next()
    }
    expect(() => app.extend(middleware as unknown as Extension)).to.throw(
      DeclarationError,
      'app.extend received the function audit. Register middleware with app.use(), and pass the object that the function of an ' +
        'extension returns.',
    )
    expect(() => app.use(visitors() as unknown as Middleware)).to.throw(
      DeclarationError,
      'app.use expects middleware functions or classes, not the extension visitors. Register it with app.extend().',
    )
    expect(() => app.extend(undefined as unknown as Extension)).to.throw(
      DeclarationError,
      'app.extend expects extensions, which are objects with a name, not undefined.',
    )
  })

  it('is named by the error for a middleware that has a hook as its own property', () => {
    const app = new App({ env: 'test' })
    app.use(Object.assign(function audit() {}, { stop: async () => undefined }))
    expect(() => app.callback()).to.throw(
      DeclarationError,
      'audit has the property "stop", which the application does not call. Move it into the extension of the middleware: ' +
        '{ extension: { stop } }.',
    )
  })
})
