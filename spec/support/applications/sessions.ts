import { pino } from 'pino'
import { App, type AppOptions, type Context } from '../../../src/index.js'
import type { Gate } from '../gate.js'

/** An application that shows and changes the session of its visitor. `PUT /late` saves it when the gate opens. */
export function sessionsApp(options: AppOptions, gate: Gate): App {
  const app = new App({ sessionName: '_blog_session', logger: pino({ level: 'silent' }), ...options })
  app.get('/', (ctx) => void (ctx.body = ctx.session))
  app.put('/', (ctx) => void (ctx.body = Object.assign(ctx.session, ctx.request.body)))
  app.put('/late', async (ctx) => {
    Object.assign(ctx.session, { late: true })
    await gate.wait()
    ctx.body = 'late'
  })
  app.post('/sign-in', (ctx) => {
    Object.assign(ctx.session, { user: 'Anna' })
    ctx.renewSession()
    ctx.body = 'signed in'
  })
  app.delete('/', (ctx: Context) => {
    ctx.session = null
    ctx.body = 'ended'
  })
  return app
}
