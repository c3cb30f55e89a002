import { expect } from 'chai'
import { namesOf } from '../../../src/generator/arguments/names.js'
import { isApi, isRegistered, registration } from '../../../src/generator/files/registration.js'

const top = ["import { App } from 'resource-kit'", "import { home } from './actions/home.js'", '']
const imported = [top[0], top[1], "import { PostsResource } from './actions/posts.js'", '']

describe('registration(names)', () => {
  const { insert, remove, leftover } = registration(namesOf('post'))

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

  const own: Record<string, [before: string, route: string]> = {
    'with the line ends of Windows': [
      [...top, 'const app = new App()', '', "app.static('/', 'public')", ''].join('\r\n'),
      '\r\napp.resource(PostsResource)\r\n',
    ],
    'in the quotes and with the semicolons of the file': [
      `import { App } from "resource-kit";\nconst app = new App();\n\napp.static("/", "public");\n`,
      `import { PostsResource } from "./actions/posts.js";\nconst app = new App();\n\napp.resource(PostsResource);\n\napp.static(`,
    ],
    'within the function that makes the application': [
      `import { App } from 'resource-kit'\nexport function make() {\n  const app = new App()\n  app.get('/', home)\n  return app\n}\n`,
      `  app.get('/', home)\n  app.resource(PostsResource)\n  return app\n`,
    ],
    'in an application whose type is written': [
      `import { App } from 'resource-kit'\nexport const app: App = new App(options)\n`,
      `\n\napp.resource(PostsResource)\n`,
    ],
    'when a comment mentions it': [
      `import { App } from 'resource-kit'\nconst app = new App()\n// app.resource(PostsResource)\n/* app.resource(PostsResource) */\n`,
      `const app = new App()\napp.resource(PostsResource)\n// `,
    ],
    'in a file without a line end at its end': [
      `import { App } from 'resource-kit'\nconst app = new App()`,
      `const app = new App()\n\napp.resource(PostsResource)`,
    ],
  }
  for (const [where, [before, route]] of Object.entries(own)) {
    it(`inserts a route ${where}, and removes it again`, () => {
      const after = insert(before)
      expect(after)
        .to.include(route)
        .and.to.match(/^import \{ PostsResource \} from /m)
      expect(insert(after)).to.equal(after)
      expect(remove(after)).to.equal(before)
    })
  }

  it('keeps other uses of the resource, and reports them', () => {
    const text = [...imported, 'const app = new App()', 'const posts = app.resource(PostsResource)', ''].join(
      '\n',
    )
    expect(remove(text)).to.equal(text)
    expect(leftover(text)).to.equal(
      'src/app.ts still contains PostsResource in code that was changed by hand. Remove it yourself.',
    )
    expect(leftover([...top, '// PostsResource is gone'].join('\n'))).to.equal(undefined)
  })

  it('never registers twice, also beside a registration by hand', () => {
    for (const own of ['app.resource(PostsResource)', "app.resource('/posts', PostsResource)"]) {
      const text = [...imported, 'const app = new App()', own, ''].join('\n')
      expect(isRegistered(text, 'PostsResource')).to.equal(true)
      expect(insert(text)).to.equal(text)
    }
  })

  it('recognizes an API application', () => {
    expect(isApi("const app = new App({ sessionName: 'x' })")).to.equal(false)
    expect(isApi('const app = new App({\n  env,\n  api: true,\n})')).to.equal(true)
  })
})
