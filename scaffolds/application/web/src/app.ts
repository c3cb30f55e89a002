import { App, csrf, forceSSL, parameterLogger, transaction, translations } from 'resource-kit'
import { home } from './actions/home.js'
import { database } from './database.js'

/** The application's middleware and routes, in order. A route runs the middleware registered above it. */
export const app = new App({ sessionName: '_%identifier%_session' })

// Redirects HTTP to HTTPS in production.
app.use(forceSSL())

// Logs the parameters of the path, query and body. Passwords, tokens and other secrets are logged as [FILTERED].
app.use(parameterLogger())

// Rejects forms that another site submits on a visitor's behalf. The application's own forms contain a token.
app.use(csrf())

// Gives each request a database transaction, ctx.tx. It begins with the first query and commits before the response is
// sent.
app.use(transaction(database))

// Loads the texts in locales/ and chooses a language for each request.
app.use(translations('locales'))

app.get('/', home)

// Serves the files in public/. Keep this line last, because it matches every remaining path.
app.static('/', 'public')
