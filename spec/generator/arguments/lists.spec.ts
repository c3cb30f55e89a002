import { expect } from 'chai'
import { generate, isCreate } from '../../../src/generator/files/files.js'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { resourceActions, resourceDestruction } from '../../../src/generator/resource-generator.js'
import { Application } from '../../support/applications/generated.js'

describe('kit generate resource with --filter, --sort and --search', () => {
  let app: Application
  beforeEach(() => {
    app = Application.web()
  })
  afterEach(() => app.remove())

  const attributes = [
    'title',
    'body:nulls.Text',
    'state:enum:draft,public',
    'author:references',
    'notes:json',
  ]
  const options: ResourceArguments = {
    attributes,
    filter: 'state,title,author,created_at',
    sort: '-created_at,title,state',
    search: 'title,body',
  }

  /** The content of a file that a run would write. */
  function contentOf(path: RegExp, given: ResourceArguments): string {
    const action = resourceActions(app.folder, 'post', given).find((one) => path.test(one.path))
    return action && isCreate(action) ? action.content : ''
  }

  function failureOf(given: ResourceArguments): string {
    try {
      resourceActions(app.folder, 'post', { attributes, ...given })
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }

  beforeEach(() => generate(app.folder, resourceActions(app.folder, 'author', { attributes: ['name'] })))

  it('declares the list', () => {
    expect(contentOf(/actions\/posts.ts$/, options)).to.contain(
      [
        '  @Queryable<Post>({',
        "    filter: { state: ['in'], title: ['prefix'], author_id: ['eq'], created_at: ['gte', 'lt'] },",
        "    sort: ['-created_at', 'title', 'state'],",
        "    search: ['title', 'body'],",
        '  })',
        '  async list(ctx: Context) {',
        '    const { records: posts, pagination, query } = await ctx.paginate(Post)',
      ].join('\n'),
    )
  })

  it('declares nothing if no attribute is named', () => {
    const empty = { attributes, filter: '', sort: ' ', search: ',' }
    expect(contentOf(/actions\/posts.ts$/, empty)).to.equal(contentOf(/actions\/posts.ts$/, { attributes }))
  })

  it('writes the indexes of the list', () => {
    const migration = contentOf(/^migrations/, options)
    expect(migration).to.contain("{ name: 'posts_title', columnNames: ['title', 'id'] }")
    expect(migration).to.contain("{ name: 'posts_created_at', columnNames: ['created_at', 'id'] }")
    expect(migration).to.contain("await prefixIndex(runner, 'posts', 'title')")
    expect(migration).to.contain("{ name: 'posts_state', columnNames: ['state', 'id'] }")
  })

  it('writes a form, headings that sort and an empty list that offers to clear the filters', () => {
    const page = contentOf(/posts\/index.pug$/, options)
    expect(page).to.contain('!= filterForm(query, { choices: { author_id: authors } })')
    expect(page).to.contain("th(scope='col' aria-sort=query.ariaSort('title'))!= sortLink(query, 'title')")
    expect(page).to.contain("th(scope='col')= label('post.body')")
    expect(page).to.contain("td(data-label=label('post.created_at'))!= time(post.created_at)")
    expect(page).to.contain('!= emptyList(query)')
  })

  it('is removed by kit destroy, which finds nothing edited', async () => {
    for (const given of [options, { ...options, spec: 'full' as const }, { attributes, sort: 'title' }]) {
      generate(app.folder, resourceActions(app.folder, 'post', given), { force: true })
      const { actions, remark } = resourceDestruction(app.folder, 'post')
      for (const action of actions.filter(isCreate))
        expect(await remark(action.path), action.path).to.equal(undefined)
    }
  })

  const mistakes: [ResourceArguments, string][] = [
    [
      { filter: 'titel' },
      '--filter has "titel", which isn\'t an attribute of the resource. Did you mean "title"?',
    ],
    [
      { sort: 'title,-state' },
      '--sort has "-state". Only its first name can have a minus, for the default order.',
    ],
    [{ search: 'state' }, '--search has "state", which has the type enum. Use attributes of text.'],
    [
      { filter: 'title,page', attributes: ['title', 'page:int'] },
      '--filter has "page", which is a parameter of every list. Leave it out, and add a filter with another name to ' +
        "@Queryable: page_key: as('page', ['eq']).",
    ],
    [{ filter: 'notes' }, '--filter has "notes", which has the type json. Leave it out.'],
    [
      { filter: 'title', singular: true },
      'A singular resource has no list. Leave out --filter, --sort and --search.',
    ],
  ]
  for (const [given, message] of mistakes) {
    it(`rejects ${JSON.stringify(given)}`, () => {
      expect(failureOf(given)).to.equal(message)
    })
  }

  it('rejects a secret attribute', () => {
    const given = { attributes: ['name', 'api_token'], filter: 'api_token' }
    expect(failureOf(given)).to.contain(
      '--filter has "api_token", which isn\'t an attribute of the resource.',
    )
  })
})
