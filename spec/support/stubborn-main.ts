/** The `src/main.ts` of an application that never completes a request. */
import 'reflect-metadata'
import { App } from '../../src/index.js'

const app = new App({ api: true, drainTimeout: 100 })
app.get('/for-ever', () => {
  for (;;);
})
await app.listen()
