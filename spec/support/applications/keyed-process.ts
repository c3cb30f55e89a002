import '../setup.js'
import { App, Database, idempotency, transaction } from '../../../src/index.js'
import { config, saveOrFail, silent } from './keyed.js'

/** A process that saves notes in the database of the given url, once for each key, and sends its parent the address. */
const database = new Database(config(process.argv[2] ?? '', { acquireTimeout: 60_000 }), 'test')
const app = new App({ api: true, logger: silent })
app.use(transaction(database), idempotency(database))
app.post('/notes', saveOrFail)
process.send?.(await app.listen(0))
