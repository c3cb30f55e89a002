import {
  App,
  csrf,
  databaseSessions,
  forceSSL,
  parameterLogger,
  transaction,
  translations,
} from 'resource-kit'
import { requireUser } from 'resource-kit/auth'
import { mailer, mailInbox } from 'resource-kit/mail'
import { AccountResource } from './actions/account.js'
import { home } from './actions/home.js'
import { PasswordResetResource } from './actions/password_reset.js'
import { PostsResource } from './actions/posts.js'
import { RegistrationResource } from './actions/registration.js'
import { SessionResource } from './actions/session.js'
import { authenticateUser } from './authentication.js'
import { database } from './database.js'
import { jobs } from './jobs.js'

/** The application's middleware and routes, in order. A route runs the middleware registered above it. */
export const app = new App({ sessionName: '_members_session', sessionStore: databaseSessions(database) })

// Redirects HTTP to HTTPS in production.
app.use(forceSSL())

// Logs the parameters of the path, query and body. Passwords, tokens and other secrets are logged as [FILTERED].
app.use(parameterLogger())

// Rejects forms that another site submits on a visitor's behalf. The application's own forms contain a token.
app.use(csrf())

// Gives each request a database transaction, ctx.tx. It begins with the first query and commits before the response is
// sent.
app.use(transaction(database))

// Lets handlers enqueue background jobs, and runs them: ctx.enqueue.
app.extend(jobs)

// Loads the texts in locales/ and chooses a language for each request.
app.use(translations('locales'))

// Lets handlers send mails.
app.extend(mailer())

// Sets ctx.user to the user who has signed in.
app.use(authenticateUser)

// Shows the mails of development at /kit/mails.
mailInbox(app)

app.get('/', home)
app.resource(SessionResource)
app.resource(PasswordResetResource)
app.resource(RegistrationResource)

// The routes below are for users who have signed in. Move routes for everybody above this line.
app.use(requireUser())
app.resource(AccountResource)
app.resource(PostsResource)

// Serves the files in public/. Keep this line last, because it matches every remaining path.
app.static('/', 'public')
