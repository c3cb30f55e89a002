import 'reflect-metadata'
import { app } from './app.js'
import { database } from './database.js'
import { seed } from './seeds.js'

// A production database is migrated when it is deployed, not by each process that starts.
if (app.env !== 'production') {
  await database.open()
  await database.migrate()
  await seed()
}
await app.listen()
