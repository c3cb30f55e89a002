import { existsSync } from 'node:fs'
import { join } from 'node:path'
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
  /** Whether a visitor who signs up has to confirm the address, by a link in a mail (no). */
  confirm?: boolean
  /** Whether users see their sessions, and can end each of them (no). */
  sessions?: boolean
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
  const { signUp: hasSignUp = true, confirm: hasConfirm = false, sessions: hasSessions = false } = options
  if (hasConfirm && !hasSignUp) {
    throw new CommandError(
      '--confirm is for accounts that visitors sign up for, and --no-sign-up leaves out the sign-up. Remove one of the two options.',
    )
  }
  const parts = [
    web,
    ...(hasSignUp ? [signUp] : []),
    ...(hasConfirm ? [confirm] : []),
    ...(hasSessions ? [sessions] : []),
  ]
  const names = namesOf(word)
  const migration = migrationNames(folder, `create_${names.plural}`, options.now)
  const paths = { singular: names.singular, plural: names.plural, migration: migration.file }
  const scaffolds = parts.map(({ scaffold }) => scaffold)
  const locals = { ...names, hasSignUp, hasConfirm, hasSessions, migrationClass: migration.className }
  return [
    ...renderScaffolds(folder, scaffolds, paths, locals),
    ...editsOf(applicationName(text) ?? 'app', names, parts),
  ]
}

/** The options with which the accounts of an application were generated. */
export function authOptionsOf(folder: string): AuthOptions {
  const has = ({ open = [], closed = [] }: Part) =>
    [...open, ...closed].every(([, file]) => existsSync(join(folder, `src/actions/${file}.ts`)))
  return { signUp: has(signUp) || has(confirm), confirm: has(confirm), sessions: has(sessions) }
}

type Resource = readonly [name: string, file: string]

/** A part of the accounts: its scaffold, the resources for everybody, and those for users who have signed in. */
interface Part {
  scaffold: string
  open?: readonly Resource[]
  closed?: readonly Resource[]
}

const web: Part = {
  scaffold: 'auth/web',
  open: [
    ['Session', 'session'],
    ['PasswordReset', 'password_reset'],
  ],
  closed: [['Account', 'account']],
}
const signUp: Part = { scaffold: 'auth/sign-up', open: [['Registration', 'registration']] }
const confirm: Part = { scaffold: 'auth/confirm', open: [['Confirmation', 'confirmation']] }
const sessions: Part = { scaffold: 'auth/sessions', closed: [['AccountSessions', 'account_sessions']] }

/** The insertions in src/app.ts and in the layout. */
function editsOf(app: string, names: Names, parts: readonly Part[]): FileAction[] {
  const open = parts.flatMap((part) => part.open ?? [])
  const closed = parts.flatMap((part) => part.closed ?? [])
  const declaring = ([name]: Resource) => `${app}.resource(${name}Resource)`
  return [
    importsOf([...open, ...closed]),
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
          ...open.map(declaring),
          '',
          `// The routes below are for ${names.words.many} who have signed in. Move routes for everybody above this line.`,
          `${app}.use(requireUser())`,
          ...closed.map(declaring),
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
function importsOf(resources: readonly Resource[]): FileAction {
  return importing('src/app.ts', [
    ['requireUser', 'resource-kit/auth'],
    ['mailer, mailInbox', 'resource-kit/mail'],
    ...resources.map(([name, file]) => [`${name}Resource`, `./actions/${file}.js`] as const),
    ['authenticateUser', './authentication.js'],
  ])
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
