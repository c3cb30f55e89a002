import { App, parameterLogger, transaction } from 'resource-kit'
import { database } from './database.js'

/** The application: middleware and routes, top to bottom. What is declared has the middleware that is above it. */
export const app = new App({ api: true })

// Logs what is sent in path, query and body. Passwords, tokens and the like are shown as [FILTERED].
app.use(parameterLogger())

// Every request has a database transaction, ctx.tx. It begins with the first query and commits before the answer leaves.
app.use(transaction(database))
