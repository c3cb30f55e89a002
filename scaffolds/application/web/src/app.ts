import { App, csrf, forceSSL, parameterLogger, transaction, translations } from 'resource-kit'
import { home } from './actions/home.js'
import { database } from './database.js'

/** The application: middleware and routes, top to bottom. What is declared has the middleware that is above it. */
export const app = new App({ sessionName: '_%identifier%_session' })

// In production, plain http is redirected to https.
app.use(forceSSL())

// Logs what is sent in path, query and body. Passwords, tokens and the like are shown as [FILTERED].
app.use(parameterLogger())

// Refuses forms that another site makes a visitor send. Our own forms carry a token.
app.use(csrf())

// Every request has a database transaction, ctx.tx. It begins with the first query and commits before the answer leaves.
app.use(transaction(database))

// Reads locales/ and chooses each request's language.
app.use(translations('locales'))

app.get('/', home)

// Takes every path that is left, so it stands last.
app.static('/', 'public')
