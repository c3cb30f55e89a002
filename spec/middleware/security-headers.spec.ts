import { expect } from 'chai'
import { App, securityHeaders, type AppOptions, type Context } from '../../src/index.js'
import { Site } from '../support/site.js'

const policy =
  "default-src 'self';base-uri 'self';font-src 'self';form-action 'self';frame-ancestors 'self';img-src 'self' data:;" +
  "object-src 'none';script-src 'self';script-src-attr 'none';style-src 'self'"

describe('securityHeaders(options)', () => {
  let site: Site

  afterEach(() => site.close())

  async function open(options: AppOptions = {}): Promise<void> {
    const app = new App({ secret: 'a secret of the specs, long enough', ...options })
    app.get('/', (ctx: Context) => {
      ctx.body = 'home'
    })
    app.get('/failing', () => {
      throw new Error('broken')
    })
    const embed = app.group('/embed')
    embed.use(securityHeaders({ contentSecurityPolicy: { frameAncestors: ['https://partner.example'] } }))
    embed.get('/', (ctx: Context) => {
      ctx.body = 'embedded'
    })
    site = await Site.open(app)
  }

  async function policyOf(path: string): Promise<string | null> {
    return (await site.get(path)).headers.get('content-security-policy')
  }

  for (const env of ['development', 'test', 'production']) {
    for (const [path, status] of Object.entries({
      '/': 200,
      '/kit.css': 200,
      '/nope': 404,
      '/failing': 500,
      '/up': 200,
    })) {
      it(`are sent with ${path} (${status}) in ${env}`, async () => {
        await open({ env })
        const response = await site.get(path)
        expect(response.status).to.equal(status)
        const upgraded = env === 'production' ? `${policy};upgrade-insecure-requests` : policy
        expect(response.headers.get('content-security-policy')).to.equal(upgraded)
        expect(Object.fromEntries(response.headers)).to.include({
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'SAMEORIGIN',
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-resource-policy': 'same-origin',
        })
      })
    }
  }

  it('let browsers send their Origin with our forms, as csrf() needs it', async () => {
    await open()
    expect((await site.get('/')).headers.get('referrer-policy')).to.equal('strict-origin-when-cross-origin')
  })

  it('leave Strict-Transport-Security to forceSSL()', async () => {
    await open({ env: 'production' })
    expect((await site.get('/')).headers.has('strict-transport-security')).to.equal(false)
  })

  it('override directives, in both spellings, and remove those that are null', async () => {
    const contentSecurityPolicy = {
      imgSrc: ["'self'", 'https://images.example.com'],
      'style-src': ["'none'"],
      'script-src-attr': null,
    }
    await open({ securityHeaders: { contentSecurityPolicy } })
    expect(await policyOf('/'))
      .to.contain("img-src 'self' https://images.example.com;")
      .and.to.contain("style-src 'none'")
      .and.not.to.contain('script-src-attr')
  })

  it('can be sent without a policy, and with other values', async () => {
    await open({ securityHeaders: { contentSecurityPolicy: false, xFrameOptions: { action: 'deny' } } })
    const { headers } = await site.get('/')
    expect(headers.has('content-security-policy')).to.equal(false)
    expect(headers.get('x-frame-options')).to.equal('DENY')
  })

  it('differ in a group that uses its own', async () => {
    await open()
    expect(await policyOf('/embed')).to.contain('frame-ancestors https://partner.example;')
    expect(await policyOf('/')).to.contain("frame-ancestors 'self';")
  })

  it('can be omitted', async () => {
    await open({ securityHeaders: false })
    const { headers } = await site.get('/')
    expect(headers.has('content-security-policy')).to.equal(false)
    expect(headers.has('x-frame-options')).to.equal(false)
  })

  it('stop the start if a directive is malformed', () => {
    expect(() => securityHeaders({ contentSecurityPolicy: { imgSrc: ['self'] } })).to.throw('img-src')
  })
})
