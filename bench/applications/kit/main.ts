import 'reflect-metadata'
import { App, Database, parameterLogger, transaction } from '../../../src/index.js'
import { FeedResource, FilteredResource } from './lists.js'
import { Post } from './post.js'
import { PostsResource } from './posts.js'

/** The posts of examples/blog as an API application, as `kit new --api` makes it. */
const database = new Database({ models: [Post] })
const app = new App({ api: true })
app.use(parameterLogger())
app.use(transaction(database))
app.resource(PostsResource)
app.resource(FilteredResource)
app.resource(FeedResource)
await app.listen()
