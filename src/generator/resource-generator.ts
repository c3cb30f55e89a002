import { BadRoute, BadUnique, CommandError } from '../command-errors.js'
import {
  accountsOf,
  existingNames,
  hasPolicy,
  ownerOfModel,
  publicAttributesOf,
  readApplication,
  requireModel,
  requireParent,
  requireProperties,
  requireReference,
} from './application.js'
import { commandLine, type ResourceOptions } from './arguments/command-line.js'
import { KINDS } from './arguments/kinds.js'
import { listParameters } from '../data/lists/declaration.js'
import { parseAttributes, type Attribute } from './arguments/attributes.js'
import type { FileAction } from './files/files.js'
import { migrationNames } from './migration-names.js'
import { parseList, type ListPlan } from './arguments/lists.js'
import { modelNamesOf, namesOf, parentsOf, type Names } from './arguments/names.js'
import { isApi, registration } from './files/registration.js'
import { otherIds } from './locale-generator.js'
import { localsOf } from './resource-locals.js'
import { parseRoutes, type AddedRoute } from './arguments/routes.js'
import { renderScaffolds, type Rendered } from './files/templates.js'

/** The description of a resource, computed once. */
export interface ResourcePlan {
  /** The command that generates it. */
  command: string
  kind: 'web' | 'api'
  /** The kind of the application, which decides the format of requests without `Accept`. */
  application: 'web' | 'api'
  names: Names
  /** The names of its model, which another resource may share. */
  model: Names
  attributes: readonly Attribute[]
  routes: readonly AddedRoute[]
  /** The columns of each unique index of several columns. */
  uniques: readonly (readonly string[])[]
  /** The queries that clients may send to the list; undefined if there are none. */
  list: ListPlan | undefined
  owner: Names | undefined
  /** The model of the users who sign in. */
  accounts: Names | undefined
  /** The attributes of accounts that lists may include. */
  publicAttributes: readonly string[]
  /** The parents with a policy, the nearest first. */
  guards: readonly Names[]
  /** Returns the owner of the records of another model. */
  ownerOf: (names: Names) => Names | undefined
}

/**
 * Returns the steps that generate a resource: its files, and its registration in src/app.ts.
 *
 * @param folder the application's folder
 * @throws CommandError whose message explains the problem
 */
export function resourceActions(folder: string, word: string, options: ResourceOptions = {}): FileAction[] {
  if (options.singular && options.parent !== undefined) {
    throw new CommandError(
      'A singular resource has no --parent. Generate it without one, and nest it by hand.',
    )
  }
  const plan = planOf(folder, word, options)
  const { names, model, attributes } = plan
  if (names.parent) requireParent(folder, names.parent)
  for (const attribute of attributes) requireReference(folder, names.plural, attribute)
  if (options.useModel !== undefined) requireProperties(folder, model, attributes, names.parent)
  if (plan.owner) requireOwner(folder, plan.owner, plan, options)
  rejectImportedNames(plan)
  rejectLongIndexes(plan)
  rejectParameters(plan)
  return stepsOf(folder, plan, options)
}

/** @throws CommandError for columns that are unique together, and of which one cannot have an index on each engine */
export function rejectLongIndexes({ attributes, uniques }: ResourcePlan): void {
  for (const columns of uniques) {
    const long = attributes.find(({ name, kind }) => columns.includes(name) && KINDS[kind].isUnbounded)
    if (!long) continue
    const problem = `--unique ${columns.join(',')} has "${long.name}", but a ${long.kind} may be too long for an index.`
    throw new CommandError(`${problem} Use the type string.`)
  }
}

/** @throws CommandError for a filter with the name of a parameter that every list has */
function rejectParameters({ list }: ResourcePlan): void {
  const name = listParameters.find((parameter) => list?.filters.some((filter) => filter.name === parameter))
  if (name === undefined) return
  throw new CommandError(
    `--filter has "${name}", which is a parameter of every list. Leave it out, and add a filter with another name ` +
      `to @Queryable: ${name}_key: as('${name}', ['eq']).`,
  )
}

/** Rejects a model with the name of a class of resource-kit that the same handlers import. */
function rejectImportedNames({ names, model, attributes, routes, list }: ResourcePlan): void {
  const imported = [
    ...(routes.length > 0 ? ['Route'] : []),
    ...(list ? ['Queryable'] : []),
    ...(names.isSingular ? ['HttpError', 'RecordNotFound', 'Use'] : []),
  ]
  const models = [model, names.parent, ...attributes.map(({ reference }) => reference?.model)]
  const clash = imported.find((name) => models.some((one) => one?.model === name))
  if (clash) {
    throw new CommandError(
      `The handlers would import two classes named ${clash}: the model, and ${clash} of resource-kit. ` +
        `Generate the resource without ${optionsOf(clash)}, and change it by hand.`,
    )
  }
}

/** The options for which the handlers import a class of resource-kit. */
function optionsOf(name: string): string {
  if (name === 'Queryable') return '--filter, --sort and --search'
  return name === 'Route' ? '--route' : '--singular'
}

/** Parses the arguments without checking the application, because `destroy` needs a plan after files have changed. */
export function planOf(
  folder: string,
  word: string,
  options: ResourceOptions,
  generator: 'resource' | 'model' = 'resource',
): ResourcePlan {
  const application = isApi(readApplication(folder)) ? 'api' : 'web'
  const parent = options.parent === undefined ? undefined : existingNames(folder, options.parent)
  const names = namesOf(word, parent, options.singular)
  const attributes = parseAttributes(options.attributes ?? [], [...keysOf(parent), ...ownerKeys(options)])
  const model = options.useModel === undefined ? names : modelNamesOf(options.useModel)
  const routes = parseRoutes(options.routes ?? [], names)
  const uniques = parseUniques(options.uniques ?? [], [
    ...attributes.filter(({ isList }) => !isList).map(({ name }) => name),
    ...keysOf(parent).slice(0, 1),
    ...ownerKeys(options).slice(0, 1),
  ])
  const list = parseList(options, attributes)
  if (list && names.isSingular)
    throw new CommandError('A singular resource has no list. Leave out --filter, --sort and --search.')
  const kind = options.api ? 'api' : application
  const owner = options.owner === undefined ? undefined : modelNamesOf(options.owner)
  const accounts = accountsOf(folder)
  return {
    command: commandLine(generator, word, options),
    kind,
    application,
    names,
    model,
    attributes,
    routes,
    uniques,
    list,
    owner,
    accounts,
    publicAttributes: accounts ? publicAttributesOf(folder, accounts) : [],
    guards: parentsOf(names).filter((one) => hasPolicy(folder, one)),
    ownerOf: (other) => ownerOfModel(folder, other),
  }
}

/** @throws BadUnique for a column that the table does not have, or a single or a repeated one */
function parseUniques(words: readonly string[], columns: readonly string[]): string[][] {
  return words.map((word) => {
    const names = word.split(',')
    const isKnown = names.every((name) => columns.includes(name))
    if (!isKnown || names.length < 2 || new Set(names).size < names.length) throw new BadUnique(word, columns)
    return names
  })
}

/** Returns the steps of a plan. */
export function stepsOf(folder: string, plan: ResourcePlan, options: ResourceOptions): FileAction[] {
  const { kind, names } = plan
  const { isSingular } = names
  const scaffolds = [
    'resource/common',
    ...(plan.owner ? ['resource/owner'] : []),
    `resource/${kind}`,
    ...(isSingular ? [`resource/singular-${kind}`] : []),
    ...(options.fullSpec || plan.owner
      ? ['resource/full-common', `resource/${isSingular ? 'full-singular' : 'full'}-${kind}`]
      : []),
  ]
  const files = filesOf(folder, plan, scaffolds, options)
  return [...files.filter(({ path }) => isWanted(path, options)), registration(names)]
}

/** Renders the files of a plan from some scaffolds. */
export function filesOf(
  folder: string,
  plan: ResourcePlan,
  scaffolds: readonly string[],
  options: ResourceOptions,
): Rendered[] {
  const { names, model } = plan
  const migration = migrationNames(folder, `create_${names.plural}`, options.now)
  const paths = { plural: names.file, singular: model.singular, migration: migration.file }
  return renderScaffolds(
    folder,
    scaffolds,
    paths,
    localsOf(plan, migration.className, otherIds(folder, plan.names.file)),
  )
}

/** @throws CommandError when the resource cannot have an owner */
function requireOwner(
  folder: string,
  owner: Names,
  { names, routes, accounts }: ResourcePlan,
  { useModel, skipModel }: ResourceOptions,
): void {
  if (useModel !== undefined || skipModel) {
    throw new CommandError(
      '--owner adds a column to the model. Generate the resource without --use-model and --skip-model.',
    )
  }
  if (!accounts)
    throw new CommandError('There are no accounts that could own records. Run `kit generate auth` first.')
  if (owner.model !== accounts.model) {
    throw new CommandError(
      `The owner of a record is the signed-in ${accounts.words.one}. Use --owner ${accounts.singular}.`,
    )
  }
  if (names.parent?.singular === owner.singular) {
    throw new CommandError(
      `--parent and --owner would both add the column ${owner.singular}_id. Remove one of the two options.`,
    )
  }
  const [scope] = routes.filter(({ handler }) => handler === 'scope')
  if (scope) throw new BadRoute(scope.word, 'the name "scope" is reserved in a policy')
  requireModel(folder, owner)
}

/** The column and the property that refer to an owner. */
function ownerKeys({ owner }: ResourceOptions): string[] {
  return owner === undefined ? [] : keysOf(modelNamesOf(owner))
}

/** The column and the property that refer to a parent. */
function keysOf(parent: Names | undefined): string[] {
  return parent ? [`${parent.singular}_id`, parent.singular] : []
}

function writesModel({ skipModel, useModel }: ResourceOptions): boolean {
  return !skipModel && useModel === undefined
}

function isWanted(path: string, options: ResourceOptions): boolean {
  if (/^(src|spec)\/models\//.test(path)) return writesModel(options)
  if (path.startsWith('migrations/')) return writesModel(options) && !options.skipMigration
  if (!path.startsWith('templates/')) return true
  return !options.skipTemplates && !(options.singular && path.endsWith('/index.pug'))
}
