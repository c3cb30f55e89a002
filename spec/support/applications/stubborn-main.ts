/** The `src/main.ts` of an application that never completes a request. */
import 'reflect-metadata'
import { writeFileSync } from 'node:fs'
import { App } from '../../../src/index.js'

const app = new App({ api: true, drainTimeout: 100 })
app.get('/for-ever', (ctx) => {
  // The spec waits for the file. A log line would not leave the process before.
  writeFileSync(String(ctx.query['file']), '')
  for (;;);
})
await app.listen()
