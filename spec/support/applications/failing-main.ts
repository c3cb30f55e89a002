/** The `src/main.ts` of an application that exits before it serves, while the file of `FAILS` exists. */
import { existsSync } from 'node:fs'

if (existsSync(process.env['FAILS'] ?? '')) process.exit(1)
const { App } = await import('../../../src/index.js')
const app = new App({ api: true })
app.get('/pid', (ctx) => void (ctx.body = { pid: process.pid }))
await app.listen()
