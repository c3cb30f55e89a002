import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { CommandError, problemIn } from '../command-errors.js'
import { agentsStep, agentsSteps, paragraphs } from './agents.js'
import { accountsOf, publicAttributesOf, readApplication, teamOf, textOf } from './application.js'
import { commandLine, recordedCommand } from './arguments/command-line.js'
import { isName, namesOf, type Names } from './arguments/names.js'
import { destructionOf, importersOf, type Destruction, type HasRun } from './destruction.js'
import type { EditFile, FileAction } from './files/files.js'
import { historySteps, isFirstHistory } from './history-steps.js'
import { importing, insertion } from './files/insertion.js'
import { breakLongLines, listOf, modelImportsOf, quote } from './files/lines.js'
import { applicationName, isApi, registration } from './files/registration.js'
import { filesOfScaffolds, frameworkScaffolds, renderFiles } from './files/templates.js'
import { translationActions } from './locale-generator.js'
import { migrationNames } from './migration-names.js'
import { humanize } from '../naming/words.js'
import { indexName } from './tables.js'
import { yaml } from './texts.js'

/** The options of `kit generate team`, except for the name. */
export interface TeamArguments {
  /** The roles, the highest first (`owner,member`). */
  roles?: string
  /** The lowest role that creates and changes records (the lowest one). */
  write?: string
  /** Whether the team and its members have no pages. In an API application they never have (no). */
  api?: boolean
  /** Whether the model of the team has a version (no). */
  locking?: boolean
  /** Whether each change of the team, its members and invitations is recorded (no). */
  history?: boolean
  /** The time of the migration. */
  now?: Date
}

/** Adds the arguments and options of `kit generate team` to a command. */
export function withTeamArguments(command: Command): Command {
  return command
    .argument('<name>', 'singular name of the team: branch, workspace')
    .option('--roles <names>', 'roles of members, the highest first (default: owner,member)')
    .option('--write <role>', 'lowest role that creates and changes records (default: the lowest)')
    .option('--api', 'handlers for JSON and XML, and no pages of the team and its members')
    .option('--locking', 'add a version, so that a change never overwrites another one')
    .option('--history', 'record each change of a team, its members and invitations')
}

/**
 * Returns the steps that add teams to an application with accounts: the models of the team, its members and invitations, their
 * policies, handlers, pages and mail, and their registration in src/app.ts.
 *
 * @throws CommandError when the name or a role is malformed or taken, without accounts, or if there is a team already
 */
export function teamActions(folder: string, word: string, options: TeamArguments = {}): FileAction[] {
  const present = teamOf(folder)
  if (present && present.names.file !== namesOf(word).file)
    throw new CommandError(
      `The application has a team already: ${present.names.words.one}. An application has one kind of team: with ` +
        `${present.names.words.many} of many companies, the company is the team, and ${present.names.words.aOne} is a resource in it.`,
    )
  return stepsOf(folder, word, options)
}

/**
 * Returns the steps of `kit generate team`, which `kit destroy team` undoes.
 *
 * @throws CommandError for another name, or while another file uses the team
 */
export function teamDestruction(folder: string, word: string, hasRun?: HasRun): Destruction {
  const { names } = teamOf(folder) ?? { names: namesOf(word) }
  if (namesOf(word).file !== names.file)
    throw new CommandError(`The team is ${names.words.aOne}. Use \`kit destroy team ${names.singular}\`.`)
  const file = textOf(folder, `src/${names.plural}.ts`) ?? ''
  const actions = stepsOf(folder, word, recordedCommand(file, 'team', withTeamArguments)?.opts() ?? {})
  const users = [`src/models/${names.singular}.ts`, `src/${names.plural}.ts`].flatMap((path) =>
    importersOf(folder, path, actions),
  )
  const [first] = users
  if (first === undefined) return destructionOf(folder, actions, hasRun)
  throw new CommandError(
    `${[...new Set(users)].join(', ')} ${users.length > 1 ? 'use' : 'uses'} the ${names.words.one}. ` +
      `Remove that first, for example with \`kit destroy resource\` for each resource with --owner ${names.singular}.`,
  )
}

/** The advice about tokens that no longer have the form in which `kit generate auth` wrote them. */
export function teamAdvice(folder: string): string[] {
  const team = teamOf(folder)
  if (!team) return []
  const key = `${team.names.singular}_id`
  return ['src/models/api_token.ts', 'src/actions/tokens.ts'].flatMap((path) => {
    const text = textOf(folder, path)
    return text === undefined || text.includes(key)
      ? []
      : [`${path} was edited, so tokens of one ${team.names.words.one} are missing in it: add ${key}.`]
  })
}

function stepsOf(folder: string, word: string, options: TeamArguments): FileAction[] {
  const application = isApi(readApplication(folder)) ? 'api' : 'web'
  const kind = options.api ? 'api' : application
  const names = namesOf(word)
  const users = accountsOf(folder)
  const { roles, write } = rolesOf(options)
  const problem = problemIn([
    [!users, `The members of ${names.words.aOne} are users with accounts. Run \`kit generate auth\` first.`],
    [word.includes('/'), `A team has no namespace. Use a name without a slash instead of "${word}".`],
    [
      ['role', 'membership', 'invitation', users?.singular].includes(names.singular),
      `A team cannot be named "${word}", because ${names.model} is another model of teams or accounts. Choose another name.`,
    ],
    [
      roles.length < 2 || roles.length > 10,
      `--roles has ${roles.length} roles. Name 2 to 10 roles, the highest first: owner,member.`,
    ],
    [
      new Set(roles).size < roles.length,
      `--roles ${roles.join(',')} names a role twice. Name each role once.`,
    ],
    [
      !roles.every(isName),
      `--roles ${roles.join(',')} has a role that is not a name. Use words like owner or shift_leader.`,
    ],
    [
      !roles.includes(write),
      `--write ${write} is not one of the roles: ${roles.join(', ')}. Use one of them.`,
    ],
  ])
  if (problem || !users) throw new CommandError(problem ?? '')
  const models = [names.singular, 'membership', 'invitation'].map((name) => `src/models/${name}.ts`)
  const historyBefore = options.history && isFirstHistory(folder, models) ? 1 : 0
  const migration = migrationNames(folder, `create_${names.plural}`, options.now, historyBefore)
  const command = commandLine('team', [word], withTeamArguments, { ...options })
  const locals = {
    ...localsOf(folder, names, users, options.locking),
    hasHistory: options.history,
    command,
    roles,
    isApi: application === 'api',
  }
  const files = renderFiles(
    folder,
    filesOfScaffolds([
      'team/common',
      `team/${kind}`,
      application === 'web' ? 'team/accept' : 'team/accept-api',
      ...(locals.hasTokens ? ['team/tokens'] : []),
    ]),
    { singular: names.singular, plural: names.plural, migration: migration.file },
    { ...locals, manager: roles[1], migrationClass: migration.className },
  )
  return [
    ...historySteps(folder, options, models, 0),
    ...files,
    ...files.flatMap((file) => (file.path.startsWith('locales/') ? translationActions(folder, file) : [])),
    ...editsOf(names, applicationName(readApplication(folder)) ?? 'app'),
    ...(kind === 'web' ? pageEdits(names) : []),
    ...(locals.hasTokens ? tokenEdits(names) : []),
    ...agentsStep(folder, paragraphs.team(names)),
    ...agentsSteps(folder, `${names.plural}.ts`, { history: options.history ?? false }),
  ]
}

/** The roles, the highest first, and the one from which on members write. */
function rolesOf({ roles = 'owner,member', write }: TeamArguments): { roles: string[]; write: string } {
  const names = roles.split(',').map((role) => role.trim())
  return { roles: names, write: write ?? names.at(-1) ?? '' }
}

function localsOf(folder: string, names: Names, users: Names, hasVersion = false) {
  const { singular } = names
  const [membership, invitation] = [namesOf('membership', names), namesOf('invitation', names)]
  const visible = publicAttributesOf(folder, users)
  return {
    ...names,
    users,
    key: `${singular}_id`,
    indexes: {
      member: indexName('memberships', `${singular}_id_user_id`),
      invited: indexName('invitations', `${singular}_id_email`),
      token: indexName('api_tokens', `${singular}_id_key`),
    },
    columns: listOf(8, 'columns', [
      'primaryKey(runner)',
      "column(runner, 'name', 'string')",
      ...(hasVersion ? ["column(runner, 'lock_version', 'int', { default: '1' })"] : []),
      '...timestamps(runner)',
    ]),
    hasVersion,
    modelImports: modelImportsOf([names, users], 'src/models/membership'),
    membershipsPath: membership.paths.collection,
    membershipPath: membership.paths.item,
    editMembershipPath: membership.paths.edit,
    invitationsPath: invitation.paths.collection,
    invitationPath: invitation.paths.item,
    newInvitationPath: invitation.paths.new,
    /** The attribute by which members know each other. */
    userName: visible.includes('name') ? 'name' : 'email',
    /** The attributes of users that the other members see. */
    shown: [...visible, 'email'].map(quote).join(', '),
    hasConfirm: /^ +confirmed_at\b/m.test(textOf(folder, `src/models/${users.singular}.ts`) ?? ''),
    hasTokens: textOf(folder, 'src/models/api_token.ts') !== undefined,
    humanize,
    yaml,
  }
}

/** The middleware that reads roles, and the routes. */
function editsOf(names: Names, app: string): FileAction[] {
  const reading = ['', `// Reads the roles of the user in ${names.words.many}.`, `${app}.use(${names.many})`]
  return [
    importing('src/app.ts', [
      ['InvitationResource', './actions/invitation.js'],
      [names.many, `./${names.plural}.js`],
    ]),
    insertion('src/app.ts', `the roles and invitations of ${names.words.many}`, [
      { lines: reading, place: 'after the accounts' },
      { lines: [`${app}.resource(InvitationResource)`], place: 'before the resources' },
    ]),
    registration(names),
    registration(namesOf('membership', names)),
    registration(namesOf('invitation', names)),
  ]
}

/** The team in the header of each page. */
function pageEdits({ singular, words }: Names): FileAction[] {
  const lines = [`      include /_${singular}`]
  const style = readFileSync(join(frameworkScaffolds, 'team/style.css'), 'utf8')
  return [
    insertion('templates/layout.pug', `the ${words.one} in the header`, [
      { lines, place: 'after the links' },
    ]),
    {
      path: 'public/application.css',
      what: 'the styles of teams',
      insert: (text) => (text.includes(style) ? text : `${text.trimEnd()}\n\n${style}`),
      remove: (text) => text.replace(`\n${style}`, ''),
    },
  ]
}

/** The key of the team in the tokens of programs. A token with a team has the user's role in this team alone. */
function tokenEdits({ singular, words }: Names): EditFile[] {
  const key = `${singular}_id`
  const what = `the ${words.one} of a token`
  return [
    replacing('src/models/api_token.ts', what, [
      [
        "import { Model, Present } from 'resource-kit'",
        "import { Model, Present, type ValidationErrors } from 'resource-kit'",
      ],
      [
        "import { Column, Entity } from 'typeorm'",
        "import { Column, Entity, type EntityManager } from 'typeorm'\nimport { Membership } from './membership.js'",
      ],
      [
        '  user_id!: string\n',
        `  user_id!: string\n\n  /** The only ${words.one} in which the token is valid; null for all ${words.many} of the user. */\n` +
          `  @Column('uuid', { nullable: true })\n  ${key}!: string | null\n`,
      ],
      [
        '  stamp!: string\n}',
        `  stamp!: string\n\n  /** The user of the token must be a member of the ${words.one}. */\n` +
          '  override async validateCreate(errors: ValidationErrors, tx: EntityManager) {\n' +
          `    const { ${key}, user_id } = this\n    if (!${key}) return\n` +
          `    const isMember = await tx.existsBy(Membership, { ${key}, user_id })\n` +
          `    if (!isMember) errors.add('${key}', 'reference')\n  }\n}`,
      ],
    ]),
    replacing('src/actions/tokens.ts', what, [
      ['IsOptional, IsString }', 'IsOptional, IsString, IsUUID }'],
      ['expires_at?: string\n', `expires_at?: string\n  @IsUUID() @IsOptional() ${key}?: string\n`],
      ...[', pages: false', ''].map(
        (more) => [tokenOptions('', more), tokenOptions(`, '${key}'`, more)] as const,
      ),
    ]),
    replacing('spec/actions/tokens.spec.ts', what, [[keysOfToken(''), keysOfToken(`, '${key}'`)]]),
  ]
}

function tokenOptions(key: string, more: string): string {
  return breakLongLines(
    `@Resource('/tokens', { model: ApiToken, fields: ['name', 'expires_at'${key}]${more} })`,
  )
}

function keysOfToken(key: string): string {
  const line = `    expect(json).to.have.keys('id', 'name', 'expires_at', 'last_used_at'${key}, 'created_at', 'updated_at', 'token')`
  return breakLongLines(line)
}

/** The step that replaces parts of a file. A part that was edited stays as it is. */
function replacing(path: string, what: string, parts: readonly (readonly [string, string])[]): EditFile {
  const replace = (text: string, before: string, after: string) =>
    text.includes(after) && after.includes(before) ? text : text.replace(before, () => after)
  return {
    path,
    what,
    insert: (text) => parts.reduce((all, [before, after]) => replace(all, before, after), text),
    remove: (text) => parts.reduce((all, [before, after]) => all.replace(after, () => before), text),
  }
}
