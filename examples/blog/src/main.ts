import 'reflect-metadata'
import { app } from './app.js'
import { database } from './database.js'

// In production, run the migrations when you deploy (`kit db migrate`), not in each process that starts.
if (app.env !== 'production') {
  await database.open()
  await database.migrate()
}
await app.listen()
