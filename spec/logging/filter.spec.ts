import { expect } from 'chai'
import { parameterFilter } from '../../src/logging/filter.js'

const filter = parameterFilter()

describe('parameterFilter(options)', () => {
  const secrets = [
    'password',
    'PASSWORD',
    'newPassword',
    'password_confirmation',
    'user[password]',
    'user.password',
    'pass-word',
    'client_secret',
    'api-token',
    'authenticity_token',
    'accessToken',
    'X-Authorization',
    'credit_card',
    'creditCardNumber',
    'Credit Card',
    'cvc',
    'card_CVC',
    'ｐａｓｓｗｏｒｄ',
    'passwd',
    'passwort',
    'api_key',
    'apiKey',
    'X-Api-Key',
    'apikey',
    'stripe[private_key]',
    'encrypted_name',
    'salt',
    'certificate',
    'cvv2',
    'ssn',
    'userSSN',
    'SSNNumber',
    'otp',
    'otp1',
    'pin',
    'card[pin]',
    'pwd',
    'auth',
    'X-Auth',
    'bearer',
    'card',
    'CARD_NUMBER',
    'iban',
    'customerIban',
    'jwt',
    'signature',
    'digest',
    'access_digest',
    'request-signature',
    'passphrase',
    'pass',
    'db_pass',
    'pw',
    'userPW',
    'totp',
    'totp_code',
    '2fa',
    '2fa_code',
    'user2FA',
    'mfa',
    'recovery_code',
    'recoveryCodes',
    'backup_code',
    'session',
    'cookie',
    'Set-Cookie',
    'Cookies',
    'sig',
    'X-Sig',
    'code',
    'Code',
    'mnemonic',
    'wallet_mnemonic',
    'seed',
    'seedPhrase',
    'credentials',
  ]
  for (const name of secrets) {
    it(`redacts ${name}`, () => {
      expect(filter({ [name]: 'hunter2' })).to.deep.equal({ [name]: '[FILTERED]' })
    })
  }

  const harmless =
    'title author author_id businessName businessname shipping discard cardinal email key monkey keyboard spinning ' +
    'compass passenger country_code postalCode status_code codes session_id sessions signal seedling'
  for (const name of harmless.split(' ')) {
    it(`shows ${name}`, () => {
      expect(filter({ [name]: 'hunter2' })).to.deep.equal({ [name]: 'hunter2' })
    })
  }

  it('redacts JSON in a form whose field has a secret name', () => {
    expect(filter({ '{"password":"hunter2"}': '' })).to.deep.equal({ '[FILTERED]': '[FILTERED]' })
  })

  it('redacts names that are too long to be compared quickly', () => {
    expect(filter({ ['\u0300\u0316'.repeat(100_000)]: 1 })).to.deep.equal({ '[FILTERED]': '[FILTERED]' })
  })

  it('redacts secrets in lists and objects, and everything within a secret', () => {
    const users = [{ name: 'Ada', logins: [{ password: 'hunter2' }] }]
    expect(filter({ users, token: { value: 'hunter2' }, secrets: ['hunter2'] })).to.deep.equal({
      users: [{ name: 'Ada', logins: [{ password: '[FILTERED]' }] }],
      token: '[FILTERED]',
      secrets: '[FILTERED]',
    })
  })

  it('redacts the names and passwords in URLs, also in the fields of errors, and shows the code of an error', () => {
    const url = 'postgres://ada:hunter2@db.example:5432/shop'
    const shown = 'postgres://[FILTERED]@db.example:5432/shop'
    expect(
      filter({ url, list: [`${url}?a=1`], mail: 'ada@example.com', home: 'https://example.com/@ada' }),
    ).to.deep.equal({
      url: shown,
      list: [`${shown}?a=1`],
      mail: 'ada@example.com',
      home: 'https://example.com/@ada',
    })
    const cause = Object.assign(new Error('redis://:hunter2@10.0.0.1 and https://hunter2@git.example'), {
      input: url,
    })
    const copy = Object(
      filter(Object.assign(new Error(`no connection to ${url}`, { cause }), { code: 'ECONNREFUSED', url })),
    )
    expect(copy).to.include({
      message: `no connection to ${shown}: redis://[FILTERED]@10.0.0.1 and https://[FILTERED]@git.example`,
      code: 'ECONNREFUSED',
      url: shown,
    })
    expect(JSON.stringify(copy)).to.not.include('hunter2')
  })

  it('redacts the names and passwords in URLs that are parameters of a form', () => {
    expect(filter({ title: 'A', website: 'https://ada:lovelace@example.com/a' })).to.deep.equal({
      title: 'A',
      website: 'https://[FILTERED]@example.com/a',
    })
  })

  it('redacts additional names', () => {
    const own = parameterFilter({ words: ['passport', 'date of birth'] })
    expect(own({ PASSPORT: 'X1', dateOfBirth: '1815-12-10', password: 'x', name: 'Ada' })).to.deep.equal({
      PASSPORT: '[FILTERED]',
      dateOfBirth: '[FILTERED]',
      password: '[FILTERED]',
      name: 'Ada',
    })
  })

  it('rejects a word that every name contains', () => {
    expect(() => parameterFilter({ words: ['-'] })).to.throw('The word "-" would filter every parameter.')
  })

  it('returns a copy, and does not change its argument', () => {
    const values = { password: 'hunter2', tags: ['a'] }
    filter(values)
    expect(values).to.deep.equal({ password: 'hunter2', tags: ['a'] })
  })

  describe('with unusual values', () => {
    const circular: Record<string, unknown> = { name: 'loop' }
    circular['self'] = circular
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    const throwing = {
      title: 'kept',
      get broken() {
        throw new Error('no')
      },
    }
    const rows: Array<[what: string, given: unknown, shown: unknown]> = [
      ['undefined', undefined, undefined],
      ['null', null, null],
      ['a number', 1.5, 1.5],
      ['a bigint', 12n, '12'],
      ['a function', () => {}, '[FUNCTION]'],
      ['a symbol', Symbol('x'), '[SYMBOL]'],
      ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
      ['an invalid date', new Date('x'), '[INVALID DATE]'],
      ['bytes', { photo: Buffer.from('hunter2') }, { photo: '[7 BYTES]' }],
      ['a cycle', circular, { name: 'loop', self: '[CIRCULAR]' }],
      ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
      ['a getter that throws', throwing, { title: 'kept', broken: '[UNREADABLE]' }],
      ['a proxy that throws', { proxy: revoked.proxy }, { proxy: '[UNREADABLE]' }],
      ['a method toJSON', { toJSON: () => 'hunter2' }, { toJSON: '[FUNCTION]' }],
    ]
    for (const [what, given, shown] of rows) {
      it(`shows ${what}`, () => {
        expect(filter(given)).to.deep.equal(shown)
      })
    }

    it('shows a field named __proto__', () => {
      const copy = filter(JSON.parse('{"__proto__": {"password": "hunter2", "a": 1}}'))
      expect(JSON.stringify(copy)).to.equal('{"__proto__":{"password":"[FILTERED]","a":1}}')
    })

    it("shows the same object twice if it isn't a cycle", () => {
      const same = { a: 1 }
      expect(filter([same, same])).to.deep.equal([{ a: 1 }, { a: 1 }])
    })
  })

  describe('with large values', () => {
    it('truncates long texts, and shows their length', () => {
      expect(filter('x'.repeat(5000))).to.equal(`${'x'.repeat(1000)}… (5000 characters)`)
    })

    it('stops after ten levels', () => {
      let deep: unknown = { password: 'hunter2' }
      for (let level = 0; level < 50; level++) deep = { deep }
      expect(JSON.stringify(filter(deep)))
        .to.contain('[TOO DEEP]')
        .and.not.to.contain('hunter2')
    })

    const big: Array<[what: string, value: unknown]> = [
      [
        'many fields',
        Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`field ${index}`, index])),
      ],
      ['many texts', Array.from({ length: 5000 }, () => 'x'.repeat(500))],
      ['many numbers', Array.from({ length: 100_000 }, (_, index) => index)],
      ['an empty list that is long', { list: Array.from({ length: 1_000_000 }) }],
      [
        'long names',
        Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`${'n'.repeat(9000)}${index}`, index])),
      ],
    ]
    for (const [what, value] of big) {
      it(`shows the beginning of ${what}`, () => {
        expect(JSON.stringify(parameterFilter({ limit: 2000 })(value)).length).to.be.below(15_000)
      })
    }
  })
})
