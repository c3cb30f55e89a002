import { expect } from 'chai'
import { namesOf } from '../../../src/generator/arguments/names.js'
import { templateNames } from '../../../src/generator/arguments/reserved.js'
import { viewHelpers } from '../../../src/views/helpers.js'
import { viewContext } from '../../support/view-context.js'

describe('namesOf(word)', () => {
  it('does not change a word that is singular', () => {
    const words = [
      'cafe',
      'sms',
      'base',
      'police',
      'canoe',
      'taxi',
      'die',
      'gas',
      'safe',
      'slice',
      'radius',
      'bias',
      'zombie',
    ]
    for (const word of words) {
      expect(namesOf(word).singular).to.equal(word)
      expect(namesOf(namesOf(word).plural).singular).to.equal(word)
    }
    expect(namesOf('cafe')).to.include({ model: 'Cafe', path: '/cafes', param: 'cafe_id' })
    expect(namesOf('tracked_sms').model).to.equal('TrackedSms')
  })

  it('rejects a word whose plural is that of another word, unless the resource is singular', () => {
    expect(() => namesOf('basis')).to.throw(
      'A resource cannot be named "basis", because its plural would be "bases", which is the plural of "base". Choose another name.',
    )
    expect(() => namesOf('annual_leave')).to.throw('which is the plural of "annual_leaf"')
    expect(namesOf('basis', undefined, true)).to.include({ model: 'Basis', path: '/basis' })
  })

  const rows = [
    // words, model, resource, path, param, collection path
    [['post', 'posts'], 'Post', 'PostsResource', '/posts', 'post_id', 'postsPath'],
    [
      ['blog_post', 'BlogPost', 'blog-posts'],
      'BlogPost',
      'BlogPostsResource',
      '/blog_posts',
      'blog_post_id',
      'blogPostsPath',
    ],
    [['person', 'people'], 'Person', 'PeopleResource', '/people', 'person_id', 'peoplePath'],
    [['category'], 'Category', 'CategoriesResource', '/categories', 'category_id', 'categoriesPath'],
    [['news'], 'News', 'NewsResource', '/news', 'news_id', 'newsIndexPath'],
    [['status'], 'Status', 'StatusesResource', '/statuses', 'status_id', 'statusesPath'],
    [['focus'], 'Focus', 'FocusesResource', '/focuses', 'focus_id', 'focusesPath'],
    [
      ['admin/widget', 'Admin/Widget'],
      'Widget',
      'AdminWidgetsResource',
      '/admin/widgets',
      'widget_id',
      'adminWidgetsPath',
    ],
  ] as const

  for (const [words, model, resource, path, param, collection] of rows) {
    for (const word of words) {
      it(`derives all names of ${word}`, () => {
        const names = namesOf(word)
        expect(names).to.include({ model, resource, file: path.slice(1), path, param })
        expect(names.paths.collection).to.equal(collection)
      })
    }
  }

  it('names a nested resource as routing does', () => {
    const names = namesOf('comment', namesOf('post'))
    expect(names).to.include({ path: '/comments', fullPath: '/posts/{post_id}/comments' })
    expect(names.paths).to.deep.equal({
      collection: 'postCommentsPath',
      item: 'postCommentPath',
      new: 'newPostCommentsPath',
      edit: 'editPostCommentPath',
    })
  })

  it('writes the namespace of a nested resource once', () => {
    const names = namesOf('admin/part', namesOf('admin/widget'))
    expect(names).to.include({
      path: '/parts',
      fullPath: '/admin/widgets/{widget_id}/parts',
      file: 'admin/parts',
    })
  })

  it('names a resource that is nested twice as routing does', () => {
    const names = namesOf('reply', namesOf('comment', namesOf('post')))
    expect(names).to.include({
      path: '/replies',
      fullPath: '/posts/{post_id}/comments/{comment_id}/replies',
      param: 'reply_id',
    })
    expect(names.paths.item).to.equal('postCommentReplyPath')
  })

  it('rejects a path that would have a parameter twice', () => {
    expect(() => namesOf('admin/post', namesOf('post'))).to.throw(
      '"admin/post" cannot be nested there: the path would contain {post_id} twice. Choose another name.',
    )
    expect(() => namesOf('admin/post', namesOf('comment', namesOf('post')))).to.throw('{post_id} twice')
  })

  it('uses another variable for many if plural and singular are the same word', () => {
    expect(namesOf('news')).to.include({ one: 'news', many: 'newsList' })
    expect(namesOf('blog_post')).to.include({ one: 'blogPost', many: 'blogPosts' })
  })

  it('returns the words of a name for texts, with article and acronyms', () => {
    expect(namesOf('blog_post').words).to.deep.equal({
      one: 'blog post',
      many: 'blog posts',
      One: 'Blog post',
      Many: 'Blog posts',
      aOne: 'a blog post',
    })
    expect(namesOf('article').words.aOne).to.equal('an article')
    expect(namesOf('user').words.aOne).to.equal('a user')
    expect(namesOf('api_key').words).to.deep.equal({
      one: 'API key',
      many: 'API keys',
      One: 'API key',
      Many: 'API keys',
      aOne: 'an API key',
    })
    const words = ['url', 'html_page', 'iban'].map((word) => namesOf(word).words)
    expect(words.map(({ aOne, many }) => `${aOne}, ${many}`)).to.deep.equal([
      'a URL, URLs',
      'an HTML page, HTML pages',
      'an IBAN, IBANs',
    ])
  })

  for (const word of [
    '',
    '1post',
    'po st',
    '../post',
    'post/',
    '/post',
    'post.ts',
    'a//b',
    'pöst',
    "x'y",
    'x'.repeat(51),
  ]) {
    it(`rejects "${word}"`, () => {
      expect(() => namesOf(word)).to.throw(`"${word}" isn't a valid name. Use words of letters and digits`)
    })
  }

  it('reserves the names of all template helpers', () => {
    expect(Object.keys(viewHelpers(viewContext())).filter((name) => !templateNames.has(name))).to.deep.equal(
      [],
    )
  })

  for (const word of ['label', 'time', 'form', 'path', 'flash_message', 'actionButton', 'of', 'attribute']) {
    it(`gives the records of ${word} variables that no template already has`, () => {
      const { one, many } = namesOf(word)
      expect([...templateNames])
        .to.not.include.members([one])
        .and.not.include.members([many])
    })
  }

  for (const word of [
    'class',
    'resource',
    'Resource',
    'model',
    'errors',
    'date',
    'admin/class',
    'function',
    'new',
    'xml',
  ]) {
    it(`rejects the reserved word ${word}`, () => {
      expect(() => namesOf(word)).to.throw(`A resource cannot be named "${word}", because `)
    })
  }
})
