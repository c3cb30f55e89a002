import { expect } from 'chai'
import { sessionSecrets } from '../../src/sessions/secrets.js'

const [one, two] = ['1'.repeat(32), '2'.repeat(40)]

describe('sessionSecrets(given, environment)', () => {
  const before = process.env['SESSION_SECRET']

  afterEach(() => {
    if (before === undefined) delete process.env['SESSION_SECRET']
    else process.env['SESSION_SECRET'] = before
  })

  it('returns the values of SESSION_SECRET, separated by commas', () => {
    process.env['SESSION_SECRET'] = `${one}, ${two},`
    expect(sessionSecrets(undefined, 'production')).to.deep.equal([one, two])
  })

  it('prefers the given secrets: a string, which may contain commas, or a list', () => {
    process.env['SESSION_SECRET'] = one
    expect(sessionSecrets(`${two},${two}`, 'production')).to.deep.equal([`${two},${two}`])
    expect(sessionSecrets([two, one], 'production')).to.deep.equal([two, one])
  })

  it('requires secrets in every environment but development and test', () => {
    delete process.env['SESSION_SECRET']
    for (const environment of ['production', 'staging']) {
      for (const given of [undefined, '', ' ', []]) {
        expect(() => sessionSecrets(given, environment)).to.throw(
          `Sessions need a secret in ${environment}. ` +
            'Set SESSION_SECRET to a long random text. `kit generate secret` prints one.',
        )
      }
    }
    for (const environment of ['development', 'test']) {
      expect(sessionSecrets(undefined, environment)).to.have.length(1)
      expect(sessionSecrets('short', environment)).to.deep.equal(['short'])
    }
  })

  it('requires 32 characters in those environments', () => {
    expect(() => sessionSecrets([one, 'short'], 'production')).to.throw(
      'A session secret has 5 characters; in production it needs at least 32. Set SESSION_SECRET to a long random text. `kit generate secret` prints one.',
    )
  })
})
