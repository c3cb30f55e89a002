import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '../command-errors.js'
import { agentsStep, paragraphs } from './agents.js'
import { accountsOf, readApplication, textOf } from './application.js'
import { destructionOf, importersOf, type Destruction, type HasRun } from './destruction.js'
import { importing, insertion, withImport } from './files/insertion.js'
import type { EditFile, FileAction } from './files/files.js'
import { breakLongLines, onOneLine } from './files/lines.js'
import { translationActions } from './locale-generator.js'
import { migrationNames } from './migration-names.js'
import { namesOf, type Names } from './arguments/names.js'
import { applicationName, isApi } from './files/registration.js'
import { filesOfScaffolds, renderFiles } from './files/templates.js'

/** The options of `kit generate auth`, except for the name. */
export interface AuthOptions {
  /** Whether clients sign in with bearer tokens. In an API application they always do (no). */
  api?: boolean
  /** Whether visitors can sign up (yes). */
  signUp?: boolean
  /** Whether a visitor who signs up has to confirm the address, by a link in a mail (no). */
  confirm?: boolean
  /** Whether users see their sessions, and can end each of them (no). */
  sessions?: boolean
  /** The time of the migration. */
  now?: Date
}

/** The names with which the ids of the pages' texts begin: `account.edit`. Those of the model begin with its name, too. */
const pageNames = ['account', 'password_reset', 'registration', 'session']

/**
 * Returns the steps that add accounts to an application: the model of users, sign-in, sign-up, password reset, the account,
 * mails, and their registration in src/app.ts. A web application has sessions, an API application has bearer tokens.
 *
 * @throws CommandError when the name is malformed, or when the options contradict each other or the application
 */
export function authActions(folder: string, word: string, options: AuthOptions = {}): FileAction[] {
  const text = readApplication(folder)
  const kind = isApi(text) ? 'api' : 'web'
  const { signUp: hasSignUp = true, confirm: hasConfirm = false, sessions: hasSessions = false } = options
  const hasTokens = options.api === true || kind === 'api'
  if (kind === 'api' && (hasConfirm || hasSessions)) {
    throw new CommandError(
      '--confirm and --sessions add pages, and src/app.ts creates an API application. Remove the option.',
    )
  }
  if (hasConfirm && !hasSignUp) {
    throw new CommandError(
      '--confirm is for accounts that visitors sign up for, and --no-sign-up leaves out the sign-up. Remove one of the two options.',
    )
  }
  const parts = [
    kind === 'web' ? web : api,
    common,
    hasSignUp && (kind === 'web' ? signUp : apiSignUp),
    hasTokens && tokens,
    hasConfirm && confirm,
    hasSessions && sessions,
  ].filter((part) => part !== false)
  if (word.includes('/'))
    throw new CommandError(
      `The model of the users has no namespace. Use a name without a slash instead of "${word}".`,
    )
  const names = namesOf(word)
  if (kind === 'web' && pageNames.includes(names.singular))
    throw new CommandError(
      `The texts of the pages use the name "${names.singular}". Choose another name for the model, for example user or member.`,
    )
  const migration = migrationNames(folder, `create_${names.plural}`, options.now)
  const paths = { singular: names.singular, plural: names.plural, migration: migration.file }
  const scaffolds = parts.map(({ scaffold }) => scaffold)
  const has = { hasSignUp, hasConfirm, hasSessions, hasTokens, isApi: kind === 'api' }
  const locals = { ...names, ...titleOf(folder), ...has, migrationClass: migration.className }
  const app = applicationName(text) ?? 'app'
  const files = renderFiles(folder, filesOfScaffolds(scaffolds), paths, locals)
  return [
    ...files,
    ...files.flatMap((file) => (file.path.startsWith('locales/') ? translationActions(folder, file) : [])),
    ...(kind === 'web' ? editsOfPages() : editsOfApi(app)),
    ...editsOf(app, names, parts),
    ...agentsStep(folder, paragraphs.accounts(names)),
  ]
}

/**
 * Returns the steps of `kit generate auth`, which `kit destroy auth` undoes.
 *
 * @param word the model of users; by default the one in src/authentication.ts
 * @throws CommandError for another model, or while another file uses the model
 */
export function authDestruction(folder: string, word?: string, hasRun?: HasRun): Destruction {
  const { model, singular } = accountsOf(folder) ?? namesOf(word ?? 'user')
  if (word !== undefined && namesOf(word).model !== model) {
    throw new CommandError(`The accounts have the model ${model}. Use \`kit destroy auth ${singular}\`.`)
  }
  const actions = authActions(folder, singular, authOptionsOf(folder))
  const importers = importersOf(folder, `src/models/${singular}.ts`, actions)
  if (importers.length === 0) return destructionOf(folder, actions, hasRun)
  throw new CommandError(
    `${importers.join(', ')} ${importers.length > 1 ? 'use' : 'uses'} the model ${model}. Remove that first, for example with \`kit destroy resource\`.`,
  )
}

/** The options with which the accounts of an application were generated, according to the files of their resources. */
function authOptionsOf(folder: string): AuthOptions {
  const has = ({ open = [], closed = [] }: Part) =>
    [...open, ...closed].every(([, file]) => existsSync(join(folder, `src/actions/${file}.ts`)))
  return {
    api: has(tokens),
    signUp: has(signUp) || has(apiSignUp) || has(confirm),
    confirm: has(confirm),
    sessions: has(sessions),
  }
}

type Resource = readonly [name: string, file: string]

/** A part of the accounts: its scaffold, the resources for everybody, and those for users who have signed in. */
interface Part {
  scaffold: string
  open?: readonly Resource[]
  closed?: readonly Resource[]
}

const common: Part = {
  scaffold: 'auth/common',
  open: [['PasswordReset', 'password_reset']],
  closed: [['Account', 'account']],
}
const web: Part = { scaffold: 'auth/web', open: [['Session', 'session']] }
const api: Part = { scaffold: 'auth/api' }
const signUp: Part = { scaffold: 'auth/sign-up', open: [['Registration', 'registration']] }
const apiSignUp: Part = { scaffold: 'auth/sign-up-api', open: [['SignUp', 'sign_up']] }
const tokens: Part = { scaffold: 'auth/tokens', open: [['Tokens', 'tokens']] }
const confirm: Part = { scaffold: 'auth/confirm', open: [['Confirmation', 'confirmation']] }
const sessions: Part = { scaffold: 'auth/sessions', closed: [['AccountSessions', 'account_sessions']] }

/** The application's name in mails, and the prefix of its bearer tokens. */
function titleOf(folder: string): { title: string; prefix: string } {
  const { name } = Object(JSON.parse(textOf(folder, 'package.json') ?? '{}')) as { name?: string }
  const words = (name ?? 'kit').split(/[^a-z\d]+/i).filter(Boolean)
  const title = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' ')
  return { title, prefix: words.join('_').toLowerCase() }
}

/** The imports and insertions in src/app.ts. */
function editsOf(app: string, names: Names, parts: readonly Part[]): FileAction[] {
  const open = parts.flatMap((part) => part.open ?? [])
  const closed = parts.flatMap((part) => part.closed ?? [])
  const declaring = ([name]: Resource) => `${app}.resource(${name}Resource)`
  return [
    importing('src/app.ts', [
      ['requireUser', 'resource-kit/auth'],
      ['mailer, mailInbox', 'resource-kit/mail'],
      ...[...open, ...closed].map(([name, file]) => [`${name}Resource`, `./actions/${file}.js`] as const),
      ['authenticateUser', './authentication.js'],
    ]),
    insertion('src/app.ts', 'the routes of accounts', [
      {
        lines: [
          '// Lets handlers send mails.',
          `${app}.extend(mailer())`,
          '',
          `// Sets ctx.user to the ${names.words.one} who has signed in.`,
          `${app}.use(authenticateUser)`,
          '',
          '// Shows the mails of development at /kit/mails.',
          `mailInbox(${app})`,
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
  ]
}

/** Sessions in the database, so that a copied cookie ends with the sign-out, and the account in the header of each page. */
function editsOfPages(): FileAction[] {
  return [
    withImport(sessionStore, 'databaseSessions', 'resource-kit'),
    insertion('templates/layout.pug', 'the account in the header', [
      { lines: ['      include /_account'], place: 'after the links' },
    ]),
  ]
}

/** The translations of mails. A new API application loads no translations. */
function editsOfApi(app: string): FileAction[] {
  const lines = [
    '// Loads the texts in locales/ and chooses a language for each request.',
    `${app}.use(translations('locales'))`,
    '',
  ]
  const loading = insertion('src/app.ts', 'the texts of accounts', [{ lines, place: 'before the routes' }])
  return [withImport(loading, 'translations', 'resource-kit')]
}

const option = 'sessionStore: databaseSessions(database)'

/** The step that adds the option to the application, unless it already has a store of sessions. */
const sessionStore: EditFile = {
  path: 'src/app.ts',
  what: option,
  insert: (text) => (text.includes('sessionStore') ? text : withOption(text)),
  remove: (text) =>
    text
      .replace(`new App({ ${option} })`, 'new App()')
      .replace(`, ${option} })`, ' })')
      .replace(/(= new App\(\{)\r?\n\s*sessionStore: databaseSessions\(database\),(?=\r?\n)/, '$1')
      .replace(/new App\(\{[^}]*\}\)/, (options) =>
        options.includes(option) ? onOneLine(options).replace(`, ${option}`, '') : options,
      ),
  leftover: (text) =>
    text.includes(option) ? `src/app.ts still contains ${option}. Remove it yourself.` : undefined,
}

/** Adds the option to `new App()` or `new App({ api: true })`. On several lines, it is the first one. */
function withOption(text: string): string {
  return text.replace(
    /^(.*= new App\()(?:\{(\r?\n\s*)|(?:\{ (.*) \})?\))/m,
    (_call, start: string, lineBreak?: string, options?: string) =>
      lineBreak
        ? `${start}{${lineBreak}${option},${lineBreak}`
        : breakLongLines(`${start}{ ${[options, option].filter(Boolean).join(', ')} })`),
  )
}

/** The advice about a web application to whose options the store of sessions could not be added. */
export function authAdvice(folder: string): string[] {
  const text = readApplication(folder)
  return isApi(text) || text.includes('sessionStore')
    ? []
    : [
        `Add \`${option}\` to the options of \`new App\` in src/app.ts, and import \`databaseSessions\` from resource-kit. Without it, a copied cookie is valid after the sign-out.`,
      ]
}
