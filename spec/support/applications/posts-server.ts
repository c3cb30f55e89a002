import '../setup.js'
import { App, Database, transaction } from '../../../src/index.js'
import { config, PostsResource } from './failing-posts.js'

/** A process that serves posts from the database of the given url, and sends its parent the address. */
const app = new App({ api: true })
app.use(transaction(new Database(config(process.argv[2] ?? ''), 'test')))
app.resource(PostsResource)
process.send?.(await app.listen(0))
process.once('SIGTERM', () => process.disconnect())
