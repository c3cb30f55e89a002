import { expect } from 'chai'
import { Application, blogFiles } from '../../support/applications/generated.js'

/** examples/blog with lists that count the comments of each post, in several ways. */
const FILES = {
  'src/models/post.ts': `import { Model, type Context } from 'resource-kit'
import { Column, Entity, OneToMany, type Relation } from 'typeorm'
import { Comment } from './comment.js'

@Entity('posts')
export class Post extends Model {
  @Column('varchar')
  title!: string

  @OneToMany(() => Comment, ({ post }) => post)
  comments?: Relation<Comment>[]

  countComments(ctx: Context) {
    return ctx.tx.countBy(Comment, { post_id: this.id })
  }
}
`,
  'src/actions/posts.ts': `import { BaseResource, Queryable, Resource, type Context } from 'resource-kit'
import { Comment } from '../models/comment.js'
import { Post } from '../models/post.js'

@Resource('/posts', { model: Post })
export class PostsResource extends BaseResource {
  @Queryable<Post>({ include: ['comments'] })
  async list(ctx: Context) {
    const { records: posts } = await ctx.paginate(Post)
    const way = ctx.get('X-Way')
    if (way === 'loop') for (const { id } of posts) await ctx.tx.countBy(Comment, { post_id: id })
    if (way === 'method') await Promise.all(posts.map((post) => post.countComments(ctx)))
    if (way === 'load') await ctx.load(posts, 'comments')
    return ctx.respond({ data: posts })
  }
}
`,
  'src/app.ts': `import { App, transaction } from 'resource-kit'
import { PostsResource } from './actions/posts.js'
import { database } from './database.js'

export const app = new App({ api: true })
app.use(transaction(database))
app.resource(PostsResource)
`,
  'src/main.ts': `import 'reflect-metadata'
import { app } from './app.js'
import { database } from './database.js'
import { Comment } from './models/comment.js'
import { Post } from './models/post.js'

await database.open()
await database.migrate()
for (const number of [1, 2, 3, 4, 5, 6, 7]) {
  const post = await database.manager.save(Object.assign(new Post(), { title: 'Post ' + number }))
  await database.manager.save(Object.assign(new Comment(), { post_id: post.id, body: 'Good' }))
}
const url = await app.listen(0, '127.0.0.1')
for (const way of ['load', 'include', 'loop', 'loop', 'method']) {
  const response = await fetch(url + '/posts' + (way === 'include' ? '?include=comments' : ''), { headers: { 'X-Way': way } })
  if (!response.ok) throw new Error(await response.text())
  await response.text()
}
process.exit()
`,
}

describe('An application that counts the comments of each post of a list', () => {
  let application: Application
  let lines: Record<string, unknown>[]

  before(() => {
    application = Application.api()
    for (const [path, content] of Object.entries(blogFiles()))
      if (/^(migrations|src\/models)\//.test(path)) application.write(path, content)
    for (const [path, content] of Object.entries(FILES)) application.write(path, content)
    const compiled = application.run('tsc', '--singleThreaded', '--noCheck')
    expect(compiled).to.include({ status: 0 }, compiled.output)
    Object.assign(application.environment, { GO_ENV: 'development', LOG_LEVEL: 'info' })
    const { output } = application.run('node', '--enable-source-maps', 'dist/src/main.js')
    lines = output.split('\n').flatMap((line) => (line.startsWith('{') ? JSON.parse(line) : []))
  })

  after(() => application.remove())

  it('gets a warning for each line, also in a method of the model, with its place', () => {
    const warnings = lines.filter(({ sql }) => sql)
    expect(warnings.map(({ place, count }) => ({ place, count }))).to.deep.equal([
      { place: 'src/actions/posts.ts:11', count: 7 },
      { place: 'src/models/post.ts:14', count: 7 },
    ])
    expect(warnings[0]?.['msg']).to.match(
      /^7 times in GET \/posts, at src\/actions\/posts\.ts:11: SELECT COUNT\(\?\) AS "cnt" FROM "comments" "Comment" WHERE .*\nRead the records of the whole list at once: /,
    )
  })

  it('runs one query for ctx.load and for an included relation, without a warning', () => {
    const counts = lines.flatMap(({ queries }) => queries ?? [])
    expect(counts).to.deep.equal([3, 3, 9, 9, 9])
  })
})
