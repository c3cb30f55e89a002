import { expect } from 'chai'
import { QueryFailedError } from 'typeorm'
import { FilesExist, NoApplication, ParentNotRegistered } from '../../../src/command-errors.js'
import { explainConnectionError } from '../../../src/database/engines/connection-errors.js'
import { explainRejection } from '../../../src/database/engines/sqlite/rejected-changes.js'
import { nothingRemains } from '../../../src/database/migrations/remains.js'
import {
  CrossSiteRequest,
  BlockedHost,
  ForwardedInDevelopment,
  InvalidToken,
  MethodNotAllowed,
  MigrationFailed,
  NoTransaction,
  NotAcceptable,
  NotAwaited,
  PendingMigrations,
  PortInUse,
  ResourceNotImplemented,
  TemplateNotFound,
  TransactionConflict,
  UnknownRoute,
  UnsupportedMediaType,
  WaitsForItself,
} from '../../../src/errors.js'
import { parseAttributes } from '../../../src/generator/arguments/attributes.js'
import { sessionSecrets } from '../../../src/sessions/secrets.js'
import { codeBlocks } from '../../support/documentation/code-blocks.js'

const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

const inView = new Error('error in view adults after drop column: no such column: age')

/** The errors that docs/troubleshooting.md explains, with the values of its examples. */
const errors: unknown[] = [
  new NoApplication('/srv/shop'),
  new PortInUse(3000, new Error('EADDRINUSE')),
  explainConnectionError(refused, 'postgres://blog@127.0.0.1:5432/blog'),
  new PendingMigrations(['CreatePosts1795132800000']),
  new MigrationFailed(
    'RemoveAgeFromPeople1795132800000',
    'run',
    nothingRemains,
    explainRejection(new QueryFailedError('', [], inView), 'people'),
  ),
  thrownBy(() => sessionSecrets([], 'production')),
  thrownBy(() => parseAttributes(['title:strng'])),
  new FilesExist(['src/actions/posts.ts', 'src/models/post.ts']),
  new ParentNotRegistered('PostsResource', 'post'),
  new ResourceNotImplemented(),
  new MethodNotAllowed('PUT', '/posts', ['GET', 'HEAD', 'POST', 'OPTIONS']),
  new NotAcceptable(['html']),
  new UnsupportedMediaType('The content type "text/plain"'),
  new InvalidToken(),
  new CrossSiteRequest('https://blog.example.com', 'http://blog.example.com'),
  new BlockedHost('blog.example'),
  new ForwardedInDevelopment(),
  new NoTransaction(),
  new NotAwaited(),
  new WaitsForItself('rateLimit() "all"', 'loadTeam (src/app.ts:12:9)'),
  new TransactionConflict(),
  new TemplateNotFound('posts/archive', ['templates/posts/archive.pug']),
  new UnknownRoute('postsPaths', 'postsPath'),
]

describe('docs/troubleshooting.md', () => {
  const messages = codeBlocks()
    .filter(({ page, language }) => page === 'docs/troubleshooting.md' && language === '')
    .map(({ code }) => code.trimEnd())

  for (const error of errors) {
    const { name, message } = error as Error
    it(`quotes ${name} literally`, () => {
      expect(messages).to.include(message)
    })
  }

  it('quotes no other messages', () => {
    expect(messages).to.have.length(errors.length)
  })
})

function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
