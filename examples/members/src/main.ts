import 'reflect-metadata'
import { app } from './app.js'
import { database } from './database.js'

// In production, run the migrations when you deploy (`kit db migrate`), not in each process that starts. `kit dev` (KIT_DEV)
// does not run them either, because you may still edit them: its pages list the pending ones.
if (app.env !== 'production' && !process.env.KIT_DEV) {
  await database.open()
  await database.migrate()
}
await app.listen()
