import {
  existingNames,
  readApplication,
  requireParent,
  requireProperties,
  requireReference,
} from './application.js'
import { parseAttributes, type Attribute } from './attributes.js'
import type { FileAction } from './files.js'
import { migrationNames } from './migration-names.js'
import { modelNamesOf, namesOf, type Names } from './names.js'
import { isApi, registration } from './registration.js'
import { localsOf } from './resource-locals.js'
import { parseRoutes, refuseModelRoute, type AddedRoute } from './routes.js'
import { renderScaffolds } from './templates.js'

/** What `kit generate resource` is told beside the name. */
export interface ResourceOptions {
  /** `title`, `body:text`, ... */
  attributes?: readonly string[]
  /** `publish:post`, `drafts:get:collection`, ... */
  routes?: readonly string[]
  /** The resource that it is nested in. */
  parent?: string | undefined
  /** Real specs in place of placeholders. */
  fullSpec?: boolean
  skipMigration?: boolean
  /** No model, nor its spec and migration. */
  skipModel?: boolean
  skipTemplates?: boolean
  /** A model that is there already. */
  useModel?: string | undefined
  /** When the migration was written. */
  now?: Date
}

/** A resource as its words describe it, computed once. */
export interface ResourcePlan {
  kind: 'web' | 'api'
  names: Names
  /** The names of its model, which may be that of another resource. */
  model: Names
  attributes: readonly Attribute[]
  routes: readonly AddedRoute[]
}

/**
 * The steps that make a resource: the files that are written, and its registration in src/app.ts.
 *
 * @param folder the application's folder
 * @throws CommandError whose sentence says what is wrong
 */
export function resourceActions(folder: string, word: string, options: ResourceOptions = {}): FileAction[] {
  const plan = planOf(folder, word, options)
  const { names, model, attributes } = plan
  if (names.parent) requireParent(folder, names.parent)
  for (const attribute of attributes) requireReference(folder, names.plural, attribute)
  if (options.useModel !== undefined) requireProperties(folder, model, attributes, names.parent)
  const references = attributes.flatMap(({ reference }) => reference ?? [])
  refuseModelRoute(options.routes ?? [], [model, ...references, ...(names.parent ? [names.parent] : [])])
  return stepsOf(folder, plan, options)
}

/** Reads the words of a resource, and checks nothing of the application: destroy needs what generate has written. */
export function planOf(folder: string, word: string, options: ResourceOptions): ResourcePlan {
  const kind = isApi(readApplication(folder)) ? 'api' : 'web'
  const parent = options.parent === undefined ? undefined : existingNames(folder, options.parent)
  const names = namesOf(word, parent)
  const attributes = parseAttributes(options.attributes ?? [], keysOf(parent))
  const model = options.useModel === undefined ? names : modelNamesOf(options.useModel)
  const routes = parseRoutes(options.routes ?? [], names)
  return { kind, names, model, attributes, routes }
}

/** The steps of a plan. */
export function stepsOf(folder: string, plan: ResourcePlan, options: ResourceOptions): FileAction[] {
  const { kind, names, model } = plan
  const scaffolds = [
    'resource/common',
    `resource/${kind}`,
    ...(names.parent ? [`resource/nested-${kind}`] : []),
    ...(options.fullSpec ? ['resource/full-common', `resource/full-${kind}`] : []),
  ]
  const migration = migrationNames(folder, `create_${names.plural}`, options.now)
  const paths = { plural: names.file, singular: model.singular, migration: migration.file }
  const locals = localsOf(plan, migration.className)
  const files = renderScaffolds(folder, scaffolds, paths, locals)
  return [...files.filter(({ path }) => isWanted(path, options)), registration(names)]
}

/** The columns and properties that lead to a parent. */
function keysOf(parent: Names | undefined): string[] {
  return parent ? [`${parent.singular}_id`, parent.singular] : []
}

function isWanted(path: string, options: ResourceOptions): boolean {
  const withoutModel = options.skipModel === true || options.useModel !== undefined
  if (/^(src|spec)\/models\//.test(path)) return !withoutModel
  if (path.startsWith('migrations/')) return !withoutModel && !options.skipMigration
  return !(path.startsWith('templates/') && options.skipTemplates)
}
