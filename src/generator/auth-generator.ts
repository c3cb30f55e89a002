import { CommandError } from '../command-errors.js'
import { readApplication } from './application.js'
import { importing, insertion } from './files/insertion.js'
import type { FileAction } from './files/files.js'
import { breakLongLines } from './files/lines.js'
import { migrationNames } from './migration-names.js'
import { namesOf, type Names } from './arguments/names.js'
import { applicationName, isApi } from './files/registration.js'
import { renderScaffolds } from './files/templates.js'

/** The options of `kit generate auth`, except for the name. */
export interface AuthOptions {
  /** Whether visitors can sign up (yes). */
  signUp?: boolean
  /** The time of the migration. */
  now?: Date
}

/**
 * Returns the steps that add accounts to an application: the model of users, sign-in, sign-up, password reset, the account,
 * mails, and their registration in src/app.ts.
 *
 * @throws CommandError
 */
export function authActions(folder: string, word: string, options: AuthOptions = {}): FileAction[] {
  const text = readApplication(folder)
  if (isApi(text)) {
    throw new CommandError(
      'src/app.ts creates an API application, which has no sessions. `kit generate auth` adds accounts to web applications.',
    )
  }
  const { signUp: hasSignUp = true } = options
  const names = namesOf(word)
  const migration = migrationNames(folder, `create_${names.plural}`, options.now)
  const paths = { singular: names.singular, plural: names.plural, migration: migration.file }
  const scaffolds = ['auth/web', ...(hasSignUp ? ['auth/sign-up'] : [])]
  const locals = { ...names, hasSignUp, migrationClass: migration.className }
  return [
    ...renderScaffolds(folder, scaffolds, paths, locals),
    ...editsOf(applicationName(text) ?? 'app', names, hasSignUp),
  ]
}

/** The insertions in src/app.ts and in the layout. */
function editsOf(app: string, names: Names, hasSignUp: boolean): FileAction[] {
  const resources = ['Session', ...(hasSignUp ? ['Registration'] : []), 'PasswordReset']
  return [
    ...importsOf(hasSignUp),
    insertion('src/app.ts', 'the routes of accounts', [
      {
        lines: [
          '// Lets handlers send mails, and shows the mails of development at /kit/mails.',
          `${app}.use(mailer())`,
          `mailInbox(${app})`,
          '',
          `// Sets ctx.user to the ${names.words.one} who has signed in.`,
          `${app}.use(authenticateUser)`,
          '',
        ],
        place: 'before the routes',
      },
      {
        lines: [
          ...resources.map((name) => `${app}.resource(${name}Resource)`),
          '',
          `// The routes below are for ${names.words.many} who have signed in. Move routes for everybody above this line.`,
          `${app}.use(requireUser())`,
          `${app}.resource(AccountResource)`,
        ],
        place: 'before the resources',
      },
    ]),
    sessionStore(),
    insertion('templates/layout.pug', 'the account in the header', [
      { lines: ['      include /_account'], place: 'after the links' },
    ]),
  ]
}

/** The imports in src/app.ts. */
function importsOf(hasSignUp: boolean): FileAction[] {
  const all: [names: string, from: string][] = [
    ['requireUser', 'resource-kit/auth'],
    ['mailer, mailInbox', 'resource-kit/mail'],
    ['AccountResource', './actions/account.js'],
    ['PasswordResetResource', './actions/password_reset.js'],
    ...(hasSignUp ? [['RegistrationResource', './actions/registration.js'] as [string, string]] : []),
    ['SessionResource', './actions/session.js'],
    ['authenticateUser', './authentication.js'],
  ]
  return [importing('src/app.ts', all)]
}

const option = 'sessionStore: databaseSessions(database)'

/** Sessions in the database, so that a copied cookie ends with the sign-out. */
function sessionStore(): FileAction {
  return {
    path: 'src/app.ts',
    what: option,
    insert: (text) =>
      text.includes('sessionStore')
        ? text
        : breakLongLines(
            text
              .replace(/(new App\(\{.*?) \}\)/, `$1, ${option} })`)
              .replace(/^(import \{ App, (?:csrf, )?)(.*\} from 'resource-kit')/m, '$1databaseSessions, $2'),
          ),
    remove: (text) =>
      joined(joined(text, /new App\(\{[^}]*\}\)/), /import \{[^}]*\} from 'resource-kit'/)
        .replace(`, ${option}`, '')
        .replace(' databaseSessions,', ''),
    leftover: (text) =>
      text.includes(option) ? `src/app.ts still contains ${option}. Remove it yourself.` : undefined,
  }
}

/** Writes a part of a text that contains the inserted code on one line again. */
function joined(text: string, part: RegExp): string {
  return text.replace(part, (lines) =>
    lines.includes('databaseSessions')
      ? lines.replaceAll(/,?\n\s*(\})/g, ' $1').replaceAll(/\n\s*/g, ' ')
      : lines,
  )
}
