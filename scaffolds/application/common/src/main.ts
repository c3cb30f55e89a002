import 'reflect-metadata'
import { app } from './app.js'
import { database } from './database.js'

// A production database is migrated when it is deployed (`kit db migrate`), not by each process that starts.
if (app.env !== 'production') {
  await database.open()
  await database.migrate()
}
await app.listen()
