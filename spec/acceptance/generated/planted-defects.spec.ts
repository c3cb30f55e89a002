import { expect } from 'chai'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { namesOf } from '../../../src/generator/arguments/names.js'
import { authActions } from '../../../src/generator/auth-generator.js'
import { generate } from '../../../src/generator/files/files.js'
import { resourceActions } from '../../../src/generator/resource-generator.js'
import { Application } from '../../support/applications/generated.js'

/** A text of a generated file that is replaced. */
type Defect = [path: string, from: string | RegExp, to: string]

/** Resources, defects of their generated files, and the failures of their complete specs, without ids and bodies. */
const RESOURCES: Record<string, { options: ResourceArguments; defects: Defect[]; failures: string[] }> = {
  post: {
    options: { attributes: ['title'], route: ['publish:post', 'drafts:get:collection'], search: 'title' },
    defects: [
      ['src/actions/posts.ts', "search: ['title']", 'search: []'],
      ['src/actions/posts.ts', "ctx.render('posts/edit', { post })", "ctx.render('posts/show', { post })"],
      ['src/actions/posts.ts', "ctx.t('post.created.success')", "'Saved.'"],
      ['src/actions/posts.ts', 'ctx.bind(await this.findPost(ctx))', 'await this.findPost(ctx)'],
      ['src/actions/posts.ts', 'await ctx.destroy(post)', ''],
      ['src/actions/posts.ts', "ctx.t('post.publish.success')", "'Done.'"],
      [
        'src/actions/posts.ts',
        '{ responses: { 200: [Post] } })\n  async drafts(ctx: Context) {',
        "{ responses: { 200: [Post] } })\n  async drafts(ctx: Context) {\n    if (ctx.accepts('html')) return ctx.redirect('/')",
      ],
    ],
    failures: [
      'filters, sorts and searches posts: list as JSON (GET /posts?search=title+ID): the status is 400 instead of 200',
      'shows the form to edit a post: edit as HTML (GET /posts/ID/edit): the body does not contain "name=\\"title\\""',
      'creates a post from a form and redirects to its page: page after created as HTML (GET /posts/ID): the body does not contain "The post was created."',
      'updates a post from a form and redirects to its page: show after update as JSON (GET /posts/ID): "title" is "title ID" instead of "Second"',
      'updates a post from JSON: update as JSON (PUT /posts/ID): "title" is "title ID" instead of "Second"',
      'updates a post from XML: show after update as JSON (GET /posts/ID): "title" is "title ID" instead of "Second"',
      'destroys a post from a form and redirects to the list: show after destroy as JSON (GET /posts/ID): the status is 200 instead of 404',
      'destroys a post and returns it as JSON: show after destroy as JSON (GET /posts/ID): the status is 200 instead of 404',
      'publish changes a post with the button of its page: page after publish as HTML (GET /posts/ID): the body does not contain "Publish succeeded."',
      'drafts shows some posts as HTML: drafts as HTML (GET /posts/drafts): the status is 302 instead of 200',
    ],
  },
  comment: {
    options: { attributes: ['body:text'], parent: 'post' },
    defects: [
      [
        'src/actions/comments.ts',
        /return ctx.findOneBy\(Comment.*/,
        'return ctx.find(Comment, String(comment_id ?? post_id))',
      ],
    ],
    failures: [
      'finds no comment of another parent or owner: show as JSON (GET /posts/ID/comments/ID): the status is 200 instead of 404',
    ],
  },
  reply: {
    options: { attributes: ['text'], parent: 'comment' },
    defects: [
      ['src/actions/replies.ts', 'const where = { comment_id: comment.id }', 'const where = {}'],
      ['src/actions/replies.ts', /const reply = new Reply\(\)\n.*/, ''],
    ],
    failures: [
      'finds no reply of another parent or owner: list as JSON (GET /posts/ID/comments/ID/replies): the body contains "ID", which it must not',
      'shows the form for a new reply: new as HTML (GET /posts/ID/comments/ID/replies/new): the status is 500 instead of 200',
      'creates a reply from a form and redirects to its page: page with the form of create as HTML (GET /posts/ID/comments/ID/replies/new): the status is 500 instead of 200',
      'shows the form again when text is missing: page with the form of create as HTML (GET /posts/ID/comments/ID/replies/new): the status is 500 instead of 200',
    ],
  },
  note: {
    options: { attributes: ['text'], owner: 'user', route: ['pin:post'] },
    defects: [
      ['src/policies/note.ts', '{ user_id: user.id }', '{}'],
      ['src/policies/note.ts', 'note.user_id === user?.id', 'note.id !== user?.id'],
    ],
    failures: [
      'returns 404 to others: show as HTML (GET /notes/ID): the status is 200 instead of 404',
      'finds no note of another parent or owner: show as JSON (GET /notes/ID): the status is 200 instead of 404',
      'pin returns 404 to others: pin as JSON (POST /notes/ID/pin): the status is 200 instead of 404',
    ],
  },
  profile: {
    options: { attributes: ['nickname'], owner: 'user', singular: true },
    defects: [
      ['src/actions/profile.ts', 'if (length > 0) throw', 'if (length > 9) throw'],
      ['src/actions/profile.ts', "ctx.seeOther('/', ", "ctx.seeOther('/profile/new', "],
    ],
    failures: [
      'returns 409 for a second profile: create as JSON (POST /profile): "detail" is "Another record prevents this change." instead of "The profile already exists."',
      'destroys the profile from a form and redirects to the home page: destroy from a form (POST /profile): the Location header is "/profile/new" instead of "/"',
    ],
  },
  'api/v1/task': {
    options: { attributes: ['title', 'rank:int'], api: true, locking: true, sort: '-rank' },
    defects: [
      ['src/models/task.ts', '@VersionColumn()', "@Column('int', { default: 1 })"],
      ['src/models/task.ts', '  @Present()\n  title', '  title = "Untitled"; x'],
      ['src/actions/api/v1/tasks.ts', "sort: ['-rank']", "sort: ['rank']"],
      ['src/actions/api/v1/tasks.ts', 'ctx.respond(201, ', 'ctx.respond('],
    ],
    failures: [
      'lists tasks as JSON and XML: list as JSON (GET /api/v1/tasks?per_page=1&page=1): the list of ids is ["ID"] instead of ["ID"]',
      'creates a task from JSON: create as JSON (POST /api/v1/tasks): createApiV1Task returned 200, which the OpenAPI document (`kit openapi`) does not list. Correct the handler, or describe the response: responses: { 200: Task }.',
      'creates a task from XML: create as XML (POST /api/v1/tasks): createApiV1Task returned 200, which the OpenAPI document (`kit openapi`) does not list. Correct the handler, or describe the response: responses: { 200: Task }.',
      'returns 422 for JSON without title: create as JSON (POST /api/v1/tasks): there is no error of "title"',
      'returns 409 for the version of an earlier state: update as JSON (PUT /api/v1/tasks/ID): the status is 200 instead of 409',
    ],
  },
  // The text is as the application wants it, which its spec says.
  letter: {
    options: { attributes: ['text'] },
    defects: [
      ['locales/letters.en-us.yaml', 'The letter was created.', 'Thank you.'],
      ['spec/actions/letters.spec.ts', "name: 'letter',", "$&\n    messages: { created: 'Thank you.' },"],
    ],
    failures: [],
  },
  customer: {
    options: { attributes: ['number:string:unique'], csv: true, import: 'number', bulk: 'update,destroy' },
    defects: [
      ['src/actions/customers.ts', "csv: ['id', ", "csv: ['updated_at', "],
      ['src/actions/customers.ts', "bulk: ['update', 'destroy']", "bulk: ['update']"],
    ],
    failures: [
      'exports customers as CSV: list as CSV (GET /customers): the body does not contain "id,number,created_at\\r\\n"',
      'calls destroy for the selected customers: destroy as JSON (POST /customers/bulk/destroy): the status is 404 instead of 200',
    ],
  },
  tag: {
    options: { attributes: ['name'] },
    defects: [
      ['src/actions/tags.ts', 'data: tags })', 'data: tags.slice(1) })'],
      ['src/actions/tags.ts', 'data: tag })', 'json: tag })'],
    ],
    failures: [
      'lists tags, newest first, as HTML, JSON and XML: list as JSON (GET /tags?per_page=1&page=1): the list of ids is [] instead of ["ID"]',
      'shows a tag as HTML, JSON and XML: show as XML (GET /tags/ID): showTag returned 406 for application/xml, which the OpenAPI document (`kit openapi`) lists. Offer it, or describe the responses.',
    ],
  },
}

describe('The complete spec of a resource with a defect', () => {
  let app: Application
  let failures: string[]

  before(function () {
    // It waits for programs, which end.
    this.timeout(0)
    app = Application.web()
    generate(app.folder, authActions(app.folder, 'user'))
    for (const [name, { options, defects }] of Object.entries(RESOURCES)) {
      generate(app.folder, resourceActions(app.folder, name, { spec: 'full', ...options }))
      for (const [path, from, to] of defects) {
        const text = app.read(path)
        app.write(path, text.replace(from, to))
        expect(app.read(path), `${path} with ${from}`).to.not.equal(text)
      }
    }
    app.run('tsc', '--singleThreaded', '--sourceMap', 'false', '--noCheck')
    const others = '^(Account|PasswordReset|Registration|Session|Home)Resource '
    failures = app
      .reportSpecs('--grep', others, '--invert')
      .failures.map((text) =>
        text.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'ID').replace(/\. The body is:.*/s, ''),
      )
  })

  after(() => app.remove())

  for (const [name, { failures: expected }] of Object.entries(RESOURCES))
    it(`names each defect, with the handler, the format, and what was expected (${name})`, () => {
      const title = `${namesOf(name, undefined, name === 'profile').resource} handlers `
      const own = failures.filter((text) => text.startsWith(title)).map((text) => text.slice(title.length))
      expect(own).to.deep.equal(expected)
    })
})
