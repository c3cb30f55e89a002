import '../../support/setup.js'
import { Database, type DatabaseSettings } from '../../../src/index.js'
import { application, config } from './application.js'

/** A host of the application. Its first argument has the settings of its database; with a second one it only migrates. */
const settings = JSON.parse(process.argv[2] ?? '') as DatabaseSettings
const database = new Database(config(settings), 'test')
if (process.argv[3] === 'migrate') {
  await database.open()
  process.send?.(await database.migrate())
  await database.close()
  process.disconnect()
} else {
  const app = application(database, process.env['HOST_ENV'])
  process.send?.(await app.listen(0))
  process.once('SIGTERM', () => {
    void app.close().then(() => process.disconnect())
  })
}
