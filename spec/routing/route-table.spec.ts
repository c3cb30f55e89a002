import { expect } from 'chai'
import { App, BaseResource } from '../../src/index.js'
import { PathPattern } from '../../src/routing/path.js'
import { RouteIndex } from '../../src/routing/route-index.js'
import { RouteTable } from '../../src/routing/route-table.js'

function table(...paths: string[]): RouteTable {
  const routes = new RouteTable()
  for (const path of paths) {
    routes.add({ method: 'GET', path, handlerName: path, middleware: [], handler: () => undefined })
  }
  return routes
}

function found(routes: RouteTable, path: string): string[] {
  return routes.match('localhost', path).map(({ route }) => route.path)
}

describe('RouteTable', () => {
  it('finds every route that matches a path, in the order of declaration', () => {
    const routes = table(
      '/{*all}',
      '/posts/{id}',
      '/posts/new',
      '/{section}/new',
      '/posts',
      '/posts/{id}/edit',
    )
    expect(found(routes, '/posts/new')).to.deep.equal([
      '/{*all}',
      '/posts/{id}',
      '/posts/new',
      '/{section}/new',
    ])
    expect(found(routes, '/posts')).to.deep.equal(['/{*all}', '/posts'])
    expect(found(routes, '/posts/1/edit')).to.deep.equal(['/{*all}', '/posts/{id}/edit'])
  })

  it('finds the same as a scan over all routes', () => {
    const words = ['a', 'b', '{x}', '{y}', 'c.d', '{*rest}']
    const paths = words.flatMap((one) => [`/${one}`, ...words.map((two) => `/${one}/${two}`), `/${one}/a/b`])
    const patterns = paths.filter(
      (path) => path.indexOf('{*rest}') === path.lastIndexOf('{') || !path.includes('{*rest}'),
    )
    const unique = patterns.filter(
      (path) => new Set(path.match(/\{\w+\}/g)).size === (path.match(/\{\w+\}/g) ?? []).length,
    )
    const routes = table(...unique)
    const alone = unique.map((path) => table(path))
    for (const path of ['/', '/a', '/b/a', '/c.d', '/a/a/b', '/z/z', '/a/b/c/d', '/c.d/c.d', '/a/']) {
      const scanned = alone.flatMap((one) => found(one, path))
      expect(found(routes, path), path).to.deep.equal(scanned)
    }
  })
})

describe('The name of a route', () => {
  it('that is derived from its path goes to the route that has it by declaration', () => {
    const app = new App()
    app.get('/posts/v{version}', () => undefined)
    app.head('/posts/v{version}', () => undefined)
    app.resource('/posts', BaseResource)
    const named = app.routes.filter(({ name }) => name === 'postPath').map(({ path }) => path)
    expect(new Set(named)).to.deep.equal(new Set(['/posts/{post_id}']))
    expect(app.pathFor('postPath', { post_id: 1 })).to.equal('/posts/1')
  })
})

describe('RouteIndex', () => {
  it('yields few candidates, however many resources there are', () => {
    const index = new RouteIndex<{ order: number }>()
    for (let order = 0; order < 1000; order++) {
      index.add(new PathPattern(`/api/things${order}/{id}`), { order })
    }
    expect(index.findCandidates('/api/things999/1')).to.deep.equal([{ order: 999 }])
  })
})
