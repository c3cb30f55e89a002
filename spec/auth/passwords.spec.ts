import { expect } from 'chai'
import { pino } from 'pino'
import { Column, Entity } from 'typeorm'
import {
  checkPassword,
  hashPassword,
  needsRehash,
  verifyPassword,
  normalizeEmail,
} from '../../src/auth/index.js'
import { App, Model, ValidationErrors } from '../../src/index.js'
import { cheapHash } from '../support/passwords.js'
import { Site } from '../support/site.js'

describe('hashPassword and verifyPassword', () => {
  it('keep the parameters and the salt with the hash', async () => {
    process.env['GO_ENV'] = 'production'
    const hash = await hashPassword('correct horse').finally(() => (process.env['GO_ENV'] = 'test'))
    expect(hash).to.match(/^\$scrypt\$ln=15,r=8,p=3\$[\w+/]{22}==\$[\w+/]{43}=$/)
    expect(await verifyPassword('correct horse', hash)).to.equal(true)
    expect(await verifyPassword('Correct horse', hash)).to.equal(false)
  })

  it('cost less in the environment test, whose hashes other environments compute again', async () => {
    const hash = await hashPassword('correct horse')
    expect(hash).to.match(/^\$scrypt\$ln=10,r=8,p=1\$/)
    process.env['GO_ENV'] = 'production'
    expect(needsRehash(hash)).to.equal(true)
    process.env['GO_ENV'] = 'test'
    expect(needsRehash(hash)).to.equal(false)
  })

  it('leave the process free for other requests', async () => {
    const stored = cheapHash('secret')
    let checked = 0
    const checks = Array.from({ length: 50 }, () =>
      verifyPassword('secret', stored).then(() => (checked += 1)),
    )
    await new Promise(setImmediate)
    expect(checked).to.be.lessThan(50)
    await Promise.all(checks)
  })

  it('treat two spellings of the same Unicode text alike', async () => {
    expect(await verifyPassword('caf\u00e9 au lait', await hashPassword('cafe\u0301 au lait'))).to.equal(true)
  })

  it('reject each password of an unknown user, and of a malformed hash', async () => {
    for (const stored of [undefined, null, '', 'plain', '$scrypt$ln=15,r=8,p=3$c2FsdA==$AAAA'])
      expect(await verifyPassword('', stored)).to.equal(false)
  })

  it('neither cut nor trim a password', async () => {
    const password = 'x'.repeat(200)
    for (const other of [
      `${password} `,
      ` ${password}`,
      'x'.repeat(199),
      `${'x'.repeat(199)}y`,
      `${password}\0`,
    ])
      expect(await verifyPassword(other, cheapHash(password))).to.equal(false)
    expect(await verifyPassword(password, cheapHash(password))).to.equal(true)
  })

  it('do not hash texts of more than 4,096 characters', async () => {
    const [longest, longer] = [4096, 4097].map((length) => 'x'.repeat(length)) as [string, string]
    expect(await verifyPassword(longest, cheapHash(longest))).to.equal(true)
    expect(await verifyPassword(longer, cheapHash(longer))).to.equal(false)
    const error = await hashPassword(longer).catch((one: unknown) => one)
    expect(error).to.include({ status: 413, message: 'The password is too long.' })
  })

  it('accept a hash with weaker parameters, which needs to be computed again', async () => {
    const stored = cheapHash('secret')
    expect(await verifyPassword('secret', stored)).to.equal(true)
    expect(needsRehash(stored)).to.equal(true)
    expect(needsRehash(await hashPassword('secret'))).to.equal(false)
  })
})

@Entity('users')
class User extends Model {
  @Column('varchar') email = 'ada@example.com'
  @Column('varchar') password_hash = ''
}

describe('checkPassword', () => {
  const cases: [unknown, string | undefined][] = [
    [undefined, 'present'],
    [12345678, 'present'],
    ['', 'present'],
    ['1234567', 'password_too_short'],
    ['        ', undefined],
    ['é'.repeat(7), 'password_too_short'],
    ['x'.repeat(200), undefined],
    ['x'.repeat(201), 'password_too_long'],
    ['password', 'password_common'],
    ['PassWord1', 'password_common'],
    ['ＰＡＳＳＷＯＲＤ', 'password_common'],
    [' ADA@example.com', 'password_is_address'],
    ['only lower case', undefined],
    // It has one character in the form NFKC.
    [`A${'\u030a'.repeat(4096)}`, 'password_too_long'],
  ]

  it('accepts 8 to 200 characters, and neither common passwords nor the address', async () => {
    const app = new App({ logger: pino({ level: 'silent' }) })
    app.get('/', (ctx) => {
      ctx.body = cases.map(([password]) => {
        const found = new ValidationErrors()
        const isAccepted = checkPassword(ctx, found, new User(), password)
        return { isAccepted, codes: found.codes['password'], message: found.on('password')[0] }
      })
    })
    const site = await Site.open(app)
    const results = (await site.get('/')).json as {
      isAccepted: boolean
      codes?: string[]
      message?: string
    }[]
    await site.close()
    expect(results.map(({ codes }) => codes?.[0])).to.deep.equal(cases.map(([, rule]) => rule))
    expect(results.map(({ isAccepted }) => isAccepted)).to.deep.equal(cases.map(([, rule]) => !rule))
    expect(results[3]?.message).to.equal('Password must have at least 8 characters.')
    expect(results[8]?.message).to.equal('Password is one of the most common passwords. Choose another one.')
  })
})

describe('normalizeEmail', () => {
  it('trims an address and writes it in lower case', () => {
    expect(normalizeEmail('  Ada@Example.COM\n')).to.equal('ada@example.com')
    expect(normalizeEmail(['a@b.c'])).to.equal('')
  })

  it('gives all spellings of an address one form, which it does not change again', () => {
    for (const address of [
      'ＡＤＡ@example.com',
      '\u3000ada@EXAMPLE.com\u00a0',
      'ada@e\u2093ample.com',
      'ada@example\uff0ecom',
    ])
      expect(normalizeEmail(address)).to.equal('ada@example.com')
    const all = String.fromCodePoint(...Array.from({ length: 0x600 }, (_, code) => code + 1))
    for (const character of all)
      expect(normalizeEmail(normalizeEmail(character))).to.equal(normalizeEmail(character))
    const greek = normalizeEmail('\u03aa\u0301')
    expect(normalizeEmail(greek)).to.equal(greek)
  })

  it('gives all spellings of a domain one form: the mailbox that a mail to them reaches', () => {
    for (const domain of ['ex\u00adample.org', 'ex\u00ad\u00adample.org\u00ad', 'example\u3002org'])
      expect(normalizeEmail(`ada@${domain}`)).to.equal('ada@example.org')
    for (const domain of ['EXÄMPLE.com', 'exa\u0308mple.com', 'XN--exmple-cua.com'])
      expect(normalizeEmail(`ada@${domain}`)).to.equal('ada@exämple.com')
    expect(normalizeEmail('"a@b\u00adc"@exämple.com')).to.equal('"a@b\u00adc"@exämple.com')
  })

  it('does not make a domain of a text that is none', () => {
    const texts = ['ada@example.org/x', 'ada@example.org?x', 'ada@ex%61mple.org', 'ada@exam\tple.org']
    for (const text of [...texts, 'ada@xn--a', 'ada@', '127.1']) expect(normalizeEmail(text)).to.equal(text)
  })

  it('does not normalize a text that is too long for an address, or has what no database stores: a NUL, half a surrogate pair', () => {
    expect(normalizeEmail('x'.repeat(1000))).to.have.length(1000)
    expect(normalizeEmail('x'.repeat(1001))).to.equal('')
    for (const odd of ['\0', '\ud800', '\udc00']) expect(normalizeEmail(`ada${odd}@example.com`)).to.equal('')
  })
})
