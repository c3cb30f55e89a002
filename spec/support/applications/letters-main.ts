/** The `src/main.ts` of an application that serves letters from the database of `DATABASE_URL`. */
import 'reflect-metadata'
import { lettersApp, lettersDatabase } from './letters.js'

const app = lettersApp(lettersDatabase(''))
app.get('/pid', (ctx) => void (ctx.body = { pid: process.pid }))
await app.listen()
