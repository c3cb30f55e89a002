import { expect } from 'chai'
import { App, csrf, parameterLogger } from '../../src/index.js'
import { captureLog } from '../../src/testing/index.js'
import { Site } from '../support/site.js'

const secrets = {
  password: 'correct horse battery staple',
  current_password: 'another long password',
  token: 'aaaabbbbccccdddd',
  bearer: 'kit_0123456789abcdef',
}

describe('Passwords and tokens', () => {
  for (const env of ['development', 'production']) {
    it(`are neither in the log nor on an error page in ${env}`, async () => {
      const log = captureLog()
      const app = new App({
        env,
        logger: log.logger,
        secret: 'x'.repeat(40),
        developmentHosts: ['127.0.0.1'],
      })
      app.use(parameterLogger())
      app.get('/password_reset/open/{token}', () => {
        throw new Error('failed')
      })
      app.use(csrf())
      app.post('/session', (ctx) => {
        const { password } = Object(ctx.request.body)
        throw Object.assign(new Error('failed'), { password, headers: ctx.headers, body: ctx.request.body })
      })
      const site = await Site.open(app)
      const { password, current_password, token, bearer } = secrets
      const headers = { Authorization: `Bearer ${bearer}` }
      const fields = { password, current_password, user: { password }, token }
      const responses = [
        await site.post('/session', { json: fields, headers }),
        await site.post('/session', { form: { password, 'user[password]': password, token }, headers }),
        await site.post('/session', { json: fields, headers, accept: 'json' }),
        await site.get(`/password_reset/open/${token}`, { headers }),
      ]
      await site.close()
      expect(responses.map(({ status }) => status)).to.deep.equal([500, 500, 500, 500])
      expect(log.text()).to.include('failed')
      const seen = log.text() + responses.map(({ text }) => text).join('')
      for (const secret of Object.values(secrets)) expect(seen).to.not.include(secret)
    })
  }
})
