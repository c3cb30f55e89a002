import { expect } from 'chai'
import { rateLimit } from '../../src/auth/index.js'
import { checkNumbers } from '../../src/common/numbers.js'
import {
  App,
  Database,
  databaseSessions,
  DeclarationError,
  forceSSL,
  redisSessions,
  transaction,
  type AppOptions,
  type DatabaseSettings,
} from '../../src/index.js'

describe('checkNumbers(owner, options, ranges)', () => {
  const check = (value: unknown, range: object) => () =>
    checkNumbers('new Thing()', { size: value as number }, { size: range })

  for (const value of [undefined, 0, 0.5, 2 ** 40, Infinity])
    it(`accepts ${value}`, () => expect(check(value, {})).not.to.throw())

  for (const [value, range, shown, use] of [
    [NaN, {}, 'NaN', 'a number from 0'],
    [-1, {}, '-1', 'a number from 0'],
    ['5', {}, '"5"', 'a number from 0'],
    [null, {}, 'null', 'a number from 0'],
    [1.5, { min: 1, isWhole: true }, '1.5', 'a whole number from 1'],
    [Infinity, { isWhole: true }, 'Infinity', 'a whole number from 0'],
    [65_536, { max: 65_535 }, '65536', 'a number from 0 to 65535'],
  ] as const)
    it(`rejects ${shown}, and asks for ${use}`, () =>
      expect(check(value, range)).to.throw(
        DeclarationError,
        `The \`size\` of new Thing() is ${shown}. Use ${use}.`,
      ))
})

describe('The numbers of options are checked, for example NaN of a variable that is not set', () => {
  const database = new Database({ test: { url: 'sqlite::memory:' } }, 'test')
  const app = (options: AppOptions) => () => new App({ env: 'test', ...options })
  const databaseWith = (settings: Partial<DatabaseSettings>) => () =>
    new Database({ test: { url: 'sqlite::memory:', ...settings } }, 'test')
  const redis = { isOpen: false, isReady: false, on: () => undefined } as never

  for (const [name, declare] of Object.entries({
    'bodyLimit of new App()': app({ bodyLimit: NaN }),
    'xmlLimit of new App()': app({ xmlLimit: NaN }),
    'filesLimit of new App()': app({ filesLimit: NaN }),
    'uploadsLimit of new App()': app({ uploadsLimit: NaN }),
    'membersLimit of new App()': app({ membersLimit: NaN }),
    'port of new App()': app({ port: 70_000 }),
    'sessionMaxAge of new App()': app({ sessionMaxAge: Infinity }),
    'headersTimeout of new App()': app({ headersTimeout: NaN }),
    'requestTimeout of new App()': app({ requestTimeout: NaN }),
    'keepAliveTimeout of new App()': app({ keepAliveTimeout: NaN }),
    'sendTimeout of new App()': app({ sendTimeout: NaN }),
    'drainDelay of new App()': app({ drainDelay: 24 * 60 * 60 * 1000 + 1 }),
    'drainTimeout of new App()': app({ drainTimeout: -1 }),
    'pool of the database': databaseWith({ pool: 0 }),
    'acquireTimeout of the database': databaseWith({ acquireTimeout: NaN }),
    'statementTimeout of the database': databaseWith({ statementTimeout: 2 ** 31 }),
    'retries of transaction()': () => transaction(database, { retries: NaN }),
    'idleLimit of transaction()': () => transaction(database, { idleLimit: NaN }),
    'to of rateLimit()': () => rateLimit({ to: NaN, within: '1 minute' }),
    'maxAge of hsts': () => forceSSL({ hsts: { maxAge: NaN } }),
    'cleanUpEvery of the table sessions': () => databaseSessions(database, { cleanUpEvery: NaN }),
    'timeout of the session store': () => redisSessions(redis, { timeout: NaN }),
  }))
    it(`such as the ${name}`, () => {
      const [option = '', ...owner] = name.split(' ')
      expect(declare).to.throw(DeclarationError, `The \`${option}\` ${owner.join(' ')} is `)
    })

  it('and so are the names of a time zone and of the session cookie', () => {
    expect(app({ timeZone: 'europe/berlin' })).not.to.throw()
    expect(app({ timeZone: 'Europe/Berlinn' })).to.throw(
      DeclarationError,
      'new App() has the unknown time zone "Europe/Berlinn". Use a name like Europe/Berlin.',
    )
    expect(app({ sessionName: 'my session' })).to.throw(
      DeclarationError,
      'The sessionName of new App() is "my session". Use letters, digits, _ and -, for example _blog_session.',
    )
  })
})
