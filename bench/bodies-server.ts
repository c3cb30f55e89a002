import 'reflect-metadata'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { App, parameterLogger } from '../src/index.js'
import { Post } from './application/post.js'

/** An application that reads bodies and binds them, and says for how long it has been busy at a stretch. */
const delays = monitorEventLoopDelay({ resolution: 1 })
delays.enable()

const app = new App({ api: true })
app.get('/longest', (ctx) => {
  ctx.body = String(delays.max / 1e6)
  delays.reset()
})
app.use(parameterLogger())
app.post('/', (ctx) => {
  ctx.bind(new Post())
  ctx.status = 204
})
await app.listen()
