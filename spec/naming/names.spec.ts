import { expect } from 'chai'
import {
  collectionIds,
  defaultPathName,
  pathNames,
  resourceNames,
  singularIds,
} from '../../src/naming/names.js'

describe('The names that derive from a path', () => {
  const rows: Array<[path: string, names: string[]]> = [
    ['/posts', ['post_id', 'postsPath', 'postPath', 'newPostsPath', 'editPostPath']],
    [
      '/blog_posts',
      ['blog_post_id', 'blogPostsPath', 'blogPostPath', 'newBlogPostsPath', 'editBlogPostPath'],
    ],
    [
      '/blog-posts',
      ['blog_post_id', 'blogPostsPath', 'blogPostPath', 'newBlogPostsPath', 'editBlogPostPath'],
    ],
    ['/people', ['person_id', 'peoplePath', 'personPath', 'newPeoplePath', 'editPersonPath']],
    [
      '/categories',
      ['category_id', 'categoriesPath', 'categoryPath', 'newCategoriesPath', 'editCategoryPath'],
    ],
    ['/statuses', ['status_id', 'statusesPath', 'statusPath', 'newStatusesPath', 'editStatusPath']],
    ['/news', ['news_id', 'newsIndexPath', 'newsPath', 'newNewsPath', 'editNewsPath']],
    [
      '/admin/planes',
      ['plane_id', 'adminPlanesPath', 'adminPlanePath', 'newAdminPlanesPath', 'editAdminPlanePath'],
    ],
    [
      '/posts/{post_id}/comments',
      ['comment_id', 'postCommentsPath', 'postCommentPath', 'newPostCommentsPath', 'editPostCommentPath'],
    ],
    [
      '/posts/{post_id}/news',
      ['news_id', 'postNewsIndexPath', 'postNewsPath', 'newPostNewsPath', 'editPostNewsPath'],
    ],
    [
      '/news/{news_id}/comments',
      ['comment_id', 'newsCommentsPath', 'newsCommentPath', 'newNewsCommentsPath', 'editNewsCommentPath'],
    ],
  ]

  for (const [path, [param, ...names]] of rows) {
    it(`for ${path} are ${names.join(', ')} with {${param}}`, () => {
      expect(resourceNames(path).param).to.equal(param)
      const { collection, item, new: form, edit } = pathNames(path)
      expect([collection, item, form, edit]).to.deep.equal(names)
    })
  }

  it('for a route without a name use the item before a parameter', () => {
    expect(defaultPathName('/')).to.equal('rootPath')
    expect(defaultPathName('/login')).to.equal('loginPath')
    expect(defaultPathName('/posts/{post_id}/publish')).to.equal('postPublishPath')
  })
})

describe('singularIds(path)', () => {
  it('finds the name of a singular resource', () => {
    expect(singularIds('/settings')).to.deep.equal(['settings', 'setting'])
    expect(singularIds('/admin/users/{user_id}/profile')).to.deep.equal(['admin.profile', 'profile'])
  })
})

describe('collectionIds(path)', () => {
  const rows = [
    ['/posts', ['posts']],
    ['/posts/{post_id}/comments', ['comments']],
    ['/admin/posts', ['admin.posts', 'posts']],
    ['/admin/posts/{post_id}/comments', ['admin.comments', 'comments']],
    ['/news/{news_id}/admin/comments', ['admin.comments', 'comments']],
    ['/news', ['news_index']],
  ] as const
  for (const [path, ids] of rows) {
    it(`finds the name of ${path} under ${ids.join(' or ')}`, () => {
      expect(collectionIds(path)).to.deep.equal(ids)
    })
  }
})
