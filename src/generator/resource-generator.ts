import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BadRoute, CommandError, problemIn, type Rule } from '../command-errors.js'
import {
  accountsOf,
  enclosuresOfModel,
  existingNames,
  handlersIn,
  hasPolicy,
  hasRoles,
  ownerOfModel,
  publicAttributesOf,
  readApplication,
  requireModel,
  requireParent,
  requireProperties,
  requireReference,
  teamOf,
  titleOf,
} from './application.js'
import { agentsSteps } from './agents.js'
import { recordedResource, resourceCommand, type ResourceArguments } from './arguments/command-line.js'
import { SOURCES } from './arguments/kinds.js'
import { parseAttributes, withoutUnique, type Attribute } from './arguments/attributes.js'
import { destructionOf, importersOf, rejectUnrecorded, type Destruction, type HasRun } from './destruction.js'
import type { FileAction } from './files/files.js'
import { migrationIn, migrationNames } from './migration-names.js'
import { parseList } from './arguments/lists.js'
import { parseMany } from './arguments/many.js'
import { parseNested } from './arguments/nested.js'
import { modelNamesOf, namesOf, parentsOf, type Names } from './arguments/names.js'
import { requireLines } from './nested-lists.js'
import { isApi, registration } from './files/registration.js'
import { otherIds } from './locale-generator.js'
import { localsOf } from './resource-locals.js'
import { parseRoutes } from './arguments/routes.js'
import { historySteps, isFirstHistory } from './history-steps.js'
import { fileSteps, hasFiles, migrationsBefore } from './file-steps.js'
import { LINE_FILES, RESOURCE_FILES, type FileChoices } from './resource-files.js'
import { renderFiles, type Rendered } from './files/templates.js'
import { planOfLines, type ResourcePlan } from './resource-plan.js'

/**
 * Returns the steps that generate a resource: its files, and its registration in src/app.ts.
 *
 * @param folder the application's folder
 * @throws CommandError whose message explains the problem
 */
export function resourceActions(folder: string, word: string, options: ResourceArguments = {}): FileAction[] {
  if (options.singular && options.parent !== undefined) {
    throw new CommandError(
      'A singular resource has no --parent. Generate it without one, and nest it by hand.',
    )
  }
  const plan = planOf(folder, word, options)
  const { names, model, attributes, owner } = plan
  if (names.parent) requireParent(folder, names.parent)
  for (const attribute of attributes) requireReference(folder, names.plural, attribute)
  if (options.useModel !== undefined) requireProperties(folder, model, attributes, names.parent)
  const problem = problemIn(rulesOf(plan, options))
  if (problem) throw new CommandError(problem)
  const inPolicy = plan.team ? ['scope', 'role', 'atLeast', 'reaches'] : owner ? ['scope'] : []
  const taken = plan.routes.find(({ handler }) => inPolicy.includes(handler))
  if (taken) throw new BadRoute(taken.word, `the name "${taken.handler}" is reserved in a policy`)
  const moving = plan.hasTrash && plan.routes.find(({ handler }) => TRASH_HANDLERS.includes(handler))
  if (plan.hasHistory && plan.routes.some(({ handler }) => handler === 'history'))
    throw new BadRoute('history', '--history adds the handler "history"')
  if (moving) throw new BadRoute(moving.word, `--trash adds the handler "${moving.handler}"`)
  if (owner) requireModel(folder, owner)
  requireLines(folder, plan, recordedFor(folder, word)?.options.nested)
  rejectImportedNames(plan)
  const steps = stepsOf(folder, plan, options)
  // Resources of one model share its texts.
  if (options.useModel === undefined) rejectTakenIds(steps, names, otherIds(folder, names.file))
  return steps
}

/** @throws CommandError when a text has the id of a text in another file, so that one of them would replace the other */
function rejectTakenIds(steps: readonly FileAction[], names: Names, otherIds: ReadonlySet<string>): void {
  const texts = steps.flatMap((step) =>
    'content' in step && step.path.startsWith('locales/') ? step.content : [],
  )
  const ids = texts.flatMap((text) => [...text.matchAll(/^- id: (\S+)$/gm)].map(([, id = '']) => id))
  const taken = ids.find((id) => otherIds.has(id))
  if (taken !== undefined)
    throw new CommandError(
      `The text "${taken}" of ${names.words.many} has the id of a text in another file in locales/. Choose another name.`,
    )
}

/**
 * Returns the steps that `kit destroy` undoes: those of the original command, which the handlers and the migration record.
 *
 * @throws CommandError when the options are not recorded
 */
export function resourceDestruction(folder: string, word: string, hasRun?: HasRun): Destruction {
  const recorded = recordedFor(folder, word)
  const options = recorded?.options ?? {}
  const plan = planOf(folder, recorded?.word ?? word, options)
  const useModel = options.useModel ?? sharedModel(folder, plan.names)
  const actions = stepsOf(folder, plan, { ...options, useModel })
  if (!recorded) rejectUnrecorded(folder, 'resource', word, actions)
  return destructionOf(folder, actions, hasRun)
}

/**
 * Returns the files of an earlier command for a resource that a new one with `--force` neither writes nor leaves out by an option:
 * the policy of `--owner`, for example.
 */
export function leftFiles(folder: string, word: string, options: ResourceArguments): string[] {
  try {
    const recorded = recordedFor(folder, word)
    if (!recorded) return []
    const own = resourceActions(folder, word, options).map(({ path }) => path)
    const { skipModel, useModel, skipMigration, skipTemplates } = options
    const leftOut = { skipModel, useModel, skipMigration, skipTemplates }
    const plan = planOf(folder, recorded.word, recorded.options)
    return stepsOf(folder, plan, { ...recorded.options, ...leftOut })
      .map(({ path }) => path)
      .filter((path) => !own.includes(path) && existsSync(join(folder, path)))
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    // An earlier command that was changed by hand must not prevent that its files are overwritten.
    return []
  }
}

/**
 * Parses the arguments and reads the application. It does not check that the parent, the owner and the references exist, because
 * `destroy` needs a plan after they have changed.
 */
export function planOf(
  folder: string,
  word: string,
  options: ResourceArguments,
  generator: 'resource' | 'model' = 'resource',
): ResourcePlan {
  const application = isApi(readApplication(folder)) ? 'api' : 'web'
  const { parent, owner, team, anyTeam } = containersOf(folder, options)
  const names = namesOf(word, parent, options.singular)
  const hasVersion = options.locking ?? false
  const { singles, ...columns } = columnsOf(names, [parent, owner, team?.names], options)
  const { attributes } = columns
  const routes = parseRoutes(options.route ?? [], names)
  const accounts = accountsOf(folder)
  return {
    command: resourceCommand(generator, word, options),
    handlersCommand: resourceCommand(generator, word, {
      ...options,
      locking: hasVersion && options.skipMigration === true,
    }),
    kind: options.api ? 'api' : application,
    application,
    names,
    model: options.useModel === undefined ? names : modelNamesOf(options.useModel),
    ...columns,
    routes,
    many: parseMany(options, attributes, singles, routes),
    owner,
    team,
    home: parentsOf(names).some(({ model }) => model === anyTeam?.names.model) ? anyTeam : undefined,
    hasVersion,
    hasHistory: options.history ?? false,
    hasTrash: options.trash ?? false,
    accounts,
    publicAttributes: accounts ? publicAttributesOf(folder, accounts) : [],
    guards: parentsOf(names).filter((one) => hasPolicy(folder, one)),
    titleOfParent: parent && titleOf(folder, parent),
    ownerOf: (other) => ownerOfModel(folder, other),
    hasRoles: (other) => hasRoles(folder, other),
    enclosuresOf: (other) => enclosuresOfModel(folder, other),
  }
}

/** The parent of the path, the user, or the team, to which the records of a resource belong. */
function containersOf(folder: string, options: ResourceArguments) {
  const owner = options.owner === undefined ? undefined : modelNamesOf(options.owner)
  const anyTeam = teamOf(folder)
  const team = anyTeam?.names.model === owner?.model ? anyTeam : undefined
  const parent = options.parent ?? team?.names.singular
  return {
    parent: parent === undefined ? undefined : existingNames(folder, parent),
    owner: team ? undefined : owner,
    team,
    /** The team of the application, to which the resource may belong by its parents only. */
    anyTeam,
  }
}

/**
 * Parses the attributes, the lists of lines, the unique indexes, and what the list shows.
 *
 * @param containers what the records belong to
 * @returns also the attributes whose values are unique by themselves, or within the containers (`singles`)
 */
function columnsOf(names: Names, containers: readonly (Names | undefined)[], options: ResourceArguments) {
  const belongsTo = [...new Set(containers.flatMap((one) => one?.singular ?? []))]
  const keys = belongsTo.map((singular) => `${singular}_id`)
  const taken = [
    ...belongsTo,
    ...keys,
    ...(options.locking ? ['lock_version'] : []),
    // MariaDB has the second one, for unique indexes.
    ...(options.trash ? ['deleted_at', 'outside_trash'] : []),
  ]
  const nested = parseNested(options.nested ?? [], names, taken, options.import === undefined ? 1 : 0)
  const inNested = nested.flatMap(({ name, item }) => [name, item])
  const parsed = parseAttributes(options.attributes ?? [], [...taken, ...inNested])
  // Each owner has only one record of a singular resource, so that its values can only be unique among all owners.
  const within = names.isSingular ? [] : keys
  // A unique index of a table with a trash ignores trashed records, which no column can declare.
  const needsIndex = within.length > 0 || options.trash === true
  const attributes = needsIndex ? parsed.map(withoutUnique) : parsed
  const declared = parsed.filter(({ isUnique }) => isUnique).map(({ name }) => name)
  const indexed = [
    ...(needsIndex ? declared.map((name) => [name]) : []),
    ...(options.unique ?? []).map((columns) => parseUnique(columns, attributes, keys)),
  ]
  const uniques = withKeys(indexed, within)
  const inside = uniques.map((columns) => columns.filter((name) => !keys.includes(name)))
  return {
    attributes,
    nested,
    uniques,
    list: parseList(
      options,
      attributes.filter(({ file }) => !file),
    ),
    singles: [...(needsIndex ? [] : declared), ...inside.filter(({ length }) => length === 1).flat()],
  }
}

/**
 * The columns of unique indexes, which begin with the keys of the parent and of the owner, so that nobody learns which values
 * others have. An index that already has one of these keys is as it was written. Two options can lead to the same index.
 */
function withKeys(uniques: readonly string[][], keys: readonly string[]): string[][] {
  const all = uniques.map((columns) =>
    columns.some((name) => keys.includes(name)) ? columns : [...keys, ...columns],
  )
  return [...new Map(all.map((columns) => [columns.join(), columns])).values()]
}

/**
 * @param keys the columns of the parent and of the owner
 * @throws CommandError for a single or a repeated column, and for one that the table does not have or cannot index
 */
function parseUnique(word: string, attributes: readonly Attribute[], keys: readonly string[]): string[] {
  const names = word.split(',')
  const columns = [
    ...attributes.filter(({ isList, file }) => !isList && !file).map(({ name }) => name),
    ...keys,
  ]
  const isKnown = names.every((name) => columns.includes(name))
  if (!isKnown || names.length < 2 || new Set(names).size < names.length) {
    throw new CommandError(
      `--unique ${word} must name two or more different columns, separated by commas. ` +
        `The columns are: ${columns.join(', ') || 'none'}. For a single column, use name:type:unique.`,
    )
  }
  const long = attributes.find(({ name, kind }) => names.includes(name) && SOURCES[kind].isUnbounded)
  if (!long) return names
  throw new CommandError(
    `--unique ${word} has "${long.name}", but a ${long.kind} may be too long for an index. Use the type string.`,
  )
}

/** Returns the steps of a plan. */
function stepsOf(folder: string, plan: ResourcePlan, options: ResourceArguments): FileAction[] {
  return [
    ...setUpSteps(folder, plan, options),
    ...filesOf(folder, plan, RESOURCE_FILES, options),
    registration(plan.names),
    ...agentsSteps(folder, `actions/${plan.names.file}.ts`, options),
  ]
}

/** The steps of the first model with files, or with a history. */
export function setUpSteps(folder: string, plan: ResourcePlan, options: ResourceArguments): FileAction[] {
  const own = ownModels(plan)
  const before = migrationsBefore(folder, plan.attributes)
  return [
    ...fileSteps(folder, plan.attributes, options, own[0]),
    ...historySteps(folder, options, own, before),
  ]
}

/** The files of the model of a plan, and of those of its lines. */
function ownModels({ model, nested }: ResourcePlan): string[] {
  return [model, ...nested.map(({ names }) => names)].map(({ singular }) => `src/models/${singular}.ts`)
}

/** Renders those of some files that a command writes. */
export function filesOf(
  folder: string,
  plan: ResourcePlan,
  files: typeof RESOURCE_FILES,
  options: ResourceArguments,
): Rendered[] {
  const { kind, names, model, owner, team } = plan
  const writesModel = !options.skipModel && options.useModel === undefined
  const choices: FileChoices = {
    model: writesModel,
    migration: writesModel && !options.skipMigration,
    policy: owner !== undefined,
    rolePolicy: team !== undefined,
    fullSpec: options.spec === 'full' || (owner ?? team) !== undefined,
    rules: hasRules(plan),
    texts: kind === 'web',
    pages: kind === 'web' && !options.skipTemplates,
    list: !names.isSingular,
    history: plan.hasHistory,
    trash: plan.hasTrash,
  }
  const historyBefore = plan.hasHistory && isFirstHistory(folder, ownModels(plan)) ? 1 : 0
  const migration = migrationNames(
    folder,
    `create_${names.plural}`,
    options.now,
    migrationsBefore(folder, plan.attributes) + historyBefore,
  )
  const paths = { plural: names.file, singular: model.singular, migration: migration.file }
  const ids = otherIds(folder, names.file)
  const written = files.filter(({ when }) => when(choices))
  const own = renderFiles(folder, written, paths, localsOf(plan, migration.className, ids))
  const lines = plan.nested.flatMap((list) => {
    const linePlan = planOfLines(plan, list)
    const ofLines = LINE_FILES.filter(({ when }) =>
      when({ ...choices, migration: false, rules: hasRules(linePlan) }),
    )
    const linePaths = { ...paths, singular: list.names.singular, list: list.name }
    return renderFiles(folder, ofLines, linePaths, localsOf(linePlan, '', ids))
  })
  return [...own, ...lines]
}

/** Whether the spec of a model has a rule to test. */
function hasRules({ attributes }: ResourcePlan): boolean {
  return attributes.some(({ isRequired, isSecret }) => isRequired && !isSecret)
}

/** The handlers of a trash. */
const TRASH_HANDLERS: readonly string[] = ['trash', 'restore', 'purge', 'findTrash']

/** The combinations of options that a resource cannot have. */
function rulesOf(plan: ResourcePlan, options: ResourceArguments): Rule[] {
  return [...rulesOfShape(plan, options), ...rulesOfModel(plan, options), ...rulesOfOwners(plan)]
}

/** The options that do not go with the path of a resource, or with a singular one. */
function rulesOfShape(
  { names, attributes, list, hasTrash, team, home }: ResourcePlan,
  options: ResourceArguments,
): Rule[] {
  const params = parentsOf(names).map(({ param }) => param)
  const fixed = attributes.find(({ name }) => params.includes(name))
  const { isSingular } = names
  return [
    [isSingular && list, 'A singular resource has no list. Leave out --filter, --sort and --search.'],
    [
      isSingular && (options.csv ?? options.import ?? options.bulk) !== undefined,
      'A singular resource has no list. Leave out --csv, --import and --bulk.',
    ],
    [isSingular && hasTrash, 'A singular resource has no list, and so no trash. Leave out --trash.'],
    [
      fixed,
      `The path ${names.fullPath} sets ${fixed?.name}, so no request could choose another one. Use another name, like other_${fixed?.reference?.property ?? fixed?.name}.`,
    ],
    [
      names.fullPath === '/up',
      'A singular resource cannot be named "up", because `GET /up` is the health check. Choose another name.',
    ],
    [
      options.singular && (team || home),
      `A singular resource has no path below ${team?.names.words.aOne}. Generate it without --singular.`,
    ],
  ]
}

/** The options that do not go with a model that exists. */
function rulesOfModel(
  { owner, team, ownerOf, hasRoles, hasVersion, hasHistory, hasTrash, nested, model }: ResourcePlan,
  options: ResourceArguments,
): Rule[] {
  const keepsModel = options.useModel !== undefined || options.skipModel
  const columns = [
    [owner ?? team, '--owner'],
    [hasVersion, '--locking'],
    [hasTrash, '--trash'],
  ]
  const added = columns.find(([is]) => is)?.[1]
  return [
    [
      added && keepsModel,
      `${added} adds a column to the model. Generate the resource without --use-model and --skip-model.`,
    ],
    [
      nested.length > 0 && keepsModel,
      '--nested adds a list to the model. Generate the resource without --use-model and --skip-model.',
    ],
    [
      hasHistory && keepsModel,
      '--history declares @History() on the model. Generate the resource without --use-model and --skip-model.',
    ],
    [
      options.useModel !== undefined && (ownerOf(model) || hasRoles(model)),
      `Each ${model.model} has an owner, whose policy the handlers must ask. Write this resource by hand, with src/policies/${model.singular}.ts.`,
    ],
  ]
}

/** The owners and teams that do not go together with a parent. */
function rulesOfOwners({ owner, team, home, accounts, names }: ResourcePlan): Rule[] {
  const { parent } = names
  return [
    [
      home && !team && !owner && parent?.model === home.names.model,
      `The roles of the ${home?.names.words.one} decide about its records. Use --owner ${home?.names.singular} instead of --parent ${home?.names.singular}.`,
    ],
    [
      team && !home,
      `The path ${names.fullPath} names no ${team?.names.words.one}. Generate the parent with --owner ${team?.names.singular}, or leave out --parent.`,
    ],
    [owner && !accounts, 'There are no accounts that could own records. Run `kit generate auth` first.'],
    [
      owner && owner.model !== accounts?.model,
      `The owner of a record is the signed-in ${accounts?.words.one}. Use --owner ${accounts?.singular}.`,
    ],
    [
      owner && parent?.singular === owner.singular,
      `--parent and --owner would both add the column ${owner?.singular}_id. Remove one of the two options.`,
    ],
  ]
}

/** @throws CommandError when a model has the name of a class of resource-kit that the same file imports */
function rejectImportedNames({
  names,
  model,
  attributes,
  routes,
  list,
  owner,
  team,
  hasHistory,
  hasTrash,
  nested,
}: ResourcePlan): void {
  const all = [...attributes, ...nested.flatMap((list) => list.attributes)]
  const models = [model, names.parent, ...all.map(({ reference }) => reference?.model)]
  const imports = [
    {
      isUsed: routes.length > 0 || hasFiles(attributes),
      classes: ['Route'],
      options: routes.length > 0 ? '--route' : 'files',
    },
    { isUsed: hasHistory, classes: ['Route', 'History', 'HistoryEntry'], options: '--history' },
    { isUsed: hasTrash, classes: ['Route', 'FindRecordOptions'], options: '--trash' },
    { isUsed: nested.length > 0, classes: ['Nested', 'OneToMany'], options: '--nested' },
    { isUsed: hasFiles(attributes), classes: ['StoredFile', 'HasFile', 'HasFiles'], options: 'files' },
    { isUsed: list, classes: ['Queryable'], options: '--filter, --sort and --search' },
    { isUsed: names.isSingular, classes: ['HttpError', 'RecordNotFound', 'Use'], options: '--singular' },
    // Only its own policy imports the model.
    { isUsed: owner && model.model === 'Policy', classes: ['Policy'], options: '--owner' },
    { isUsed: team && model.model === 'RolePolicy', classes: ['RolePolicy'], options: '--owner' },
  ]
  for (const { isUsed, classes, options } of imports) {
    const clash = isUsed && classes.find((name) => models.some((one) => one?.model === name))
    if (!clash) continue
    throw new CommandError(
      `A generated file would import two classes named ${clash}: the model, and ${clash} of resource-kit. ` +
        `Generate the resource without ${options}, and change it by hand.`,
    )
  }
}

/** The command that has generated a resource, according to its handlers, else to its migration. */
function recordedFor(folder: string, word: string) {
  // The word can be that of a singular resource.
  const own = [namesOf(word, undefined, true), namesOf(word)]
  const migrations = own.map(({ plural }) => migrationIn(folder, `create_${plural}`))
  const commands = [...own.map((names) => handlersIn(folder, names)), ...migrations].map(recordedResource)
  const [first, ...others] = commands.filter((one) => {
    const generated = one && namesOf(one.word, undefined, one.options.singular)
    return own.some(({ file }) => file === generated?.file)
  })
  // Only the migration of its own model records that a resource has a version.
  if (first && !first.options.useModel && !first.options.skipModel)
    first.options.locking ||= others.some((one) => one?.options.locking)
  return first
}

/** The name of the model if another resource has it, too (`widget` and `admin/widget`), so that it must stay. */
function sharedModel(folder: string, { file, singular, model }: Names): string | undefined {
  const isOfModel = new RegExp(`^@Resource\\([^)]*\\bmodel: ${model}\\b`, 'm')
  const own = { path: `src/actions/${file}.ts`, content: '' }
  const isShared = importersOf(folder, `src/models/${singular}.ts`, [own]).some(
    (path) => path.startsWith('src/actions/') && isOfModel.test(readFileSync(join(folder, path), 'utf8')),
  )
  return isShared ? singular : undefined
}
