import { expect } from 'chai'
import { App, Database, transaction, type DatabaseSettings } from '../../src/index.js'
import { hidePassword, placeOf } from '../../src/database/engines/database-url.js'
import { DeclarationError } from '../../src/errors.js'

describe('The replicas of a database', () => {
  const { DATABASE_REPLICA_URLS: before } = process.env
  afterEach(() => {
    if (before === undefined) delete process.env['DATABASE_REPLICA_URLS']
    else process.env['DATABASE_REPLICA_URLS'] = before
  })

  const url = 'postgres://app@db.internal/blog'
  const urlsOf = (settings: Partial<DatabaseSettings>, env = 'staging'): readonly string[] =>
    new Database({ [env]: { url, ...settings } }, env).replication.urls

  it('are those of the settings, or of DATABASE_REPLICA_URLS, which can be empty', () => {
    const replicas = ['postgres://app@pg1/blog', 'postgres://app@pg2/blog']
    expect(urlsOf({ replicas })).to.deep.equal(replicas)
    process.env['DATABASE_REPLICA_URLS'] = ' postgres://app@pg3/blog,postgresql://app@pg4/blog '
    expect(urlsOf({ replicas })).to.deep.equal(['postgres://app@pg3/blog', 'postgresql://app@pg4/blog'])
    process.env['DATABASE_REPLICA_URLS'] = ''
    expect(urlsOf({ replicas })).to.deep.equal([])
  })

  it('are ignored in the environment of specs', () => {
    process.env['DATABASE_REPLICA_URLS'] = 'postgres://app@pg3/blog'
    expect(urlsOf({ replicas: ['postgres://app@pg1/blog'] }, 'test')).to.deep.equal([])
  })

  it('stop the start with one sentence if they cannot work', () => {
    const attempts: [Partial<DatabaseSettings>, string][] = [
      [
        { url: 'sqlite:one.sqlite', replicas: [url] },
        'Only PostgreSQL databases have replicas, and the url is sqlite:one.sqlite. Remove them.',
      ],
      [
        { replicas: ['mysql://app:secret@pg1/blog'] },
        'The replica mysql://app:***@pg1/blog is not a PostgreSQL database.',
      ],
      [{ maxLag: 500 }, 'The `maxLag` of the database is 500. Use a number from 2000.'],
    ]
    for (const [settings, message] of attempts)
      expect(() => urlsOf(settings)).to.throw(DeclarationError, message)
    expect(() => urlsOf({ replicas: ['postgres://app@pg%/blog'] })).to.throw(
      DeclarationError,
      'cannot be read',
    )
  })

  it('have urls whose password no message shows, and neither has another database', () => {
    const urls = ['postgres:///app:hunter2@h/b', 'postgres:/app:hunter2@h/b', 'postgres:app:hunter2@h/b']
    for (const wrong of [...urls, 'mysql:///app:hunter2@h/b'])
      expect(() => placeOf(wrong), wrong)
        .to.throw(DeclarationError, 'cannot be read')
        .with.property('message')
        .that.does.not.include('hunter2')
    expect(hidePassword('postgres://app@h/b?sslpassword=hunter2')).to.not.include('hunter2')
  })

  it('need a secret in an API application', () => {
    const { SESSION_SECRET: secret } = process.env
    delete process.env['SESSION_SECRET']
    try {
      const app = new App({ api: true, env: 'staging' })
      app.use(transaction(new Database({ staging: { url, replicas: [url] } }, 'staging')))
      expect(() => app.callback()).to.throw(
        DeclarationError,
        'The positions of replicas need a secret in staging.',
      )
    } finally {
      if (secret !== undefined) process.env['SESSION_SECRET'] = secret
    }
  })

  it('add the header of positions to the OpenAPI document', () => {
    const described = (settings: Partial<DatabaseSettings>): unknown =>
      transaction(new Database({ staging: { url, ...settings } }, 'staging')).openapi
    expect(described({ replicas: [url] })).to.have.nested.property('headers.Database-Position')
    expect(described({})).to.equal(undefined)
  })
})
