import { expect } from 'chai'
import { namesOf } from '../../src/generator/names.js'
import { isApi, isRegistered, registration } from '../../src/generator/registration.js'

const top = ["import { App } from 'resource-kit'", "import { home } from './actions/home.js'", '']
const imported = [top[0], top[1], "import { PostsResource } from './actions/posts.js'", '']

describe('registration(names)', () => {
  const { insert, remove } = registration(namesOf('post'))

  const rows: Record<string, [before: string[], after: string[]]> = {
    'above the static files and their comment': [
      ['const app = new App()', '', "app.get('/', home)", '', '// Last.', "app.static('/', 'public')", ''],
      [
        'const app = new App()',
        '',
        "app.get('/', home)",
        'app.resource(PostsResource)',
        '',
        '// Last.',
        "app.static('/', 'public')",
        '',
      ],
    ],
    'after a blank line where no route is above it': [
      ['const app = new App()', 'app.use(csrf())', '', "app.static('/', 'public')", ''],
      [
        'const app = new App()',
        'app.use(csrf())',
        '',
        'app.resource(PostsResource)',
        '',
        "app.static('/', 'public')",
        '',
      ],
    ],
    'right above static files that follow at once': [
      ['const app = new App()', "app.get('/', home)", "app.static('/', 'public')", ''],
      [
        'const app = new App()',
        "app.get('/', home)",
        'app.resource(PostsResource)',
        "app.static('/', 'public')",
        '',
      ],
    ],
    'at the end where there are no static files': [
      ['const app = new App()', '', 'app.use(csrf())', ''],
      ['const app = new App()', '', 'app.use(csrf())', '', 'app.resource(PostsResource)', ''],
    ],
    'after a route of several lines': [
      ['const site = new App()', "site.get('/', (ctx) => {", '  ctx.body = 1', '})', ''],
      [
        'const site = new App()',
        "site.get('/', (ctx) => {",
        '  ctx.body = 1',
        '})',
        'site.resource(PostsResource)',
        '',
      ],
    ],
    'above the call that listens': [
      ['const app = new App()', "app.get('/', home)", '', 'await app.listen()', ''],
      [
        'const app = new App()',
        "app.get('/', home)",
        'app.resource(PostsResource)',
        '',
        'await app.listen()',
        '',
      ],
    ],
  }

  for (const [where, [before, after]] of Object.entries(rows)) {
    it(`inserts a route ${where}`, () => {
      expect(insert([...top, ...before].join('\n')).split('\n')).to.deep.equal([...imported, ...after])
    })
    it(`removes a route ${where}`, () => {
      expect(remove([...imported, ...after].join('\n')).split('\n')).to.deep.equal([...top, ...before])
    })
  }

  it('never registers twice, whoever has written it', () => {
    for (const own of ['app.resource(PostsResource)', "app.resource('/posts', PostsResource)"]) {
      const text = [...imported, 'const app = new App()', own, ''].join('\n')
      expect(isRegistered(text, 'PostsResource')).to.equal(true)
      expect(insert(text)).to.equal(text)
    }
  })

  it('tells an API application', () => {
    expect(isApi("const app = new App({ sessionName: 'x' })")).to.equal(false)
    expect(isApi('const app = new App({\n  env,\n  api: true,\n})')).to.equal(true)
  })
})
