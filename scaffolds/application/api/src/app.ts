import { App, forceSSL, parameterLogger, transaction } from 'resource-kit'
import { database } from './database.js'

/** The application's middleware and routes, in order. A route runs the middleware registered above it. */
export const app = new App({ api: true })

// Redirects HTTP to HTTPS in production.
app.use(forceSSL())

// Logs the parameters of the path, query and body. Passwords, tokens and other secrets are logged as [FILTERED].
app.use(parameterLogger())

// Gives each request a database transaction, ctx.tx. It begins with the first query and commits before the response is
// sent.
app.use(transaction(database))
