import { expect } from 'chai'
import { App, Model } from '../../src/index.js'
import { MissingParameter, UnknownRoute } from '../../src/errors.js'
import { canonicalPath, PathPattern } from '../../src/routing/path.js'

class Post extends Model {
  constructor(override id: string) {
    super()
  }
}

class Comment extends Model {
  constructor(
    override id: string,
    readonly post_id: string,
  ) {
    super()
  }
}

describe('A path helper', () => {
  const app = new App()
  const respond = () => undefined
  app.get('/', respond)
  app.get('/posts', respond, { name: 'postsPath' })
  app.get('/posts/{post_id}', respond, { name: 'postPath' })
  app.get('/posts/{post_id}/comments/{comment_id}', respond, { name: 'postCommentPath' })
  app.get('/posts/{post_id}/comments/{comment_id}/replies/{reply_id}', respond, { name: 'replyPath' })
  app.get('/files/{*path}', respond, { name: 'filePath' })
  app.get('/{*path}', respond, { name: 'anyPath' })

  const [post, comment] = [new Post('p1'), new Comment('c1', 'p1')]
  const rows: Array<[what: string, args: Parameters<App['pathFor']>, path: string]> = [
    ['the root', ['rootPath'], '/'],
    ['no parameters', ['postsPath'], '/posts'],
    ['an object of parameters', ['postPath', { post_id: 1 }], '/posts/1'],
    ['a value', ['postPath', 'p1'], '/posts/p1'],
    ['a record', ['postPath', post], '/posts/p1'],
    ['a record in an object', ['postPath', { post_id: post }], '/posts/p1'],
    ['a record that names its parent', ['postCommentPath', comment], '/posts/p1/comments/c1'],
    ['records in the order of the parameters', ['postCommentPath', post, comment], '/posts/p1/comments/c1'],
    [
      'records that end the path, the first of which names its parent',
      ['replyPath', comment, Object.assign(new Post('r1'), { comment_id: 'other' })],
      '/posts/p1/comments/c1/replies/r1',
    ],
    [
      'a parameter, and a record',
      ['replyPath', { post_id: 'p2', comment_id: 'c2' }, post],
      '/posts/p2/comments/c2/replies/p1',
    ],
    [
      'other keys, as the query',
      ['postsPath', { page: 2, tag: ['a', 'b&c'] }],
      '/posts?page=2&tag=a&tag=b%26c',
    ],
    ['a record and a query', ['postPath', post, { page: 2 }], '/posts/p1?page=2'],
    ['a value that must be encoded', ['postPath', 'a/b ü?'], '/posts/a%2Fb%20%C3%BC%3F'],
    [
      'a rest at the root, which never leads to another host',
      ['anyPath', '//evil.example/a'],
      '/evil.example/a',
    ],
    ['a rest of several segments', ['filePath', 'a/b c'], '/files/a/b%20c'],
    ['undefined in the query, left out', ['postsPath', { page: undefined }], '/posts'],
  ]

  for (const [what, args, path] of rows) {
    it(`accepts ${what}: ${path}`, () => {
      expect(app.pathFor(...args)).to.equal(path)
    })
  }

  it('names a missing parameter', () => {
    expect(() => app.pathFor('postCommentPath', { post_id: 1 })).to.throw(
      MissingParameter,
      'postCommentPath (/posts/{post_id}/comments/{comment_id}) requires the parameter "comment_id", which is missing.',
    )
    expect(() => app.pathFor('postPath', undefined)).to.throw(MissingParameter)
    expect(() => app.pathFor('postPath', '')).to.throw(MissingParameter)
  })

  it('says that a record without an id has not been saved', () => {
    class Post {
      id?: string
    }
    expect(() => app.pathFor('postPath', new Post())).to.throw(
      'postPath (/posts/{post_id}) requires the parameter "post_id", which is missing. The Post that was passed has not been ' +
        'saved. Was `await ctx.save(...)` forgotten?',
    )
  })

  it('throws an error with the nearest name if it does not exist', () => {
    expect(() => app.pathFor('postPaht')).to.throw(
      UnknownRoute,
      'No route has the name "postPaht". Did you mean "postPath"?',
    )
  })
})

describe('A path pattern', () => {
  it('begins with a slash', () => {
    expect(() => new PathPattern('posts')).to.throw(
      'The path "posts" does not begin with a slash. Write "/posts".',
    )
  })

  it('contains each parameter once', () => {
    expect(() => new PathPattern('/a/{id}/b/{id}')).to.throw('has the parameter "id" twice')
  })

  it('contains well-formed parameters only', () => {
    expect(() => new PathPattern('/a/{id')).to.throw('The path segment "{id" is malformed.')
    expect(() => new PathPattern('/a/{}')).to.throw('is malformed')
  })

  it("accepts Koa's :name for {name}", () => {
    expect(new PathPattern('/posts/:id').params).to.deep.equal(['id'])
  })
})

describe('canonicalPath()', () => {
  it('writes each path in one form', () => {
    expect(canonicalPath('/posts/')).to.equal('/posts')
    expect(canonicalPath('/')).to.equal('/')
    expect(canonicalPath('/%70osts/a%2fb')).to.equal('/posts/a%2Fb')
    expect(canonicalPath('/caf%c3%a9')).to.equal('/caf%C3%A9')
  })

  it('rejects broken percent-encoding', () => {
    for (const path of ['/%', '/%zz', '/%c3%28']) {
      expect(() => canonicalPath(path), path).to.throw('The percent-encoding of the path is malformed.')
    }
  })
})
