import {
  existingNames,
  readApplication,
  requireParent,
  requireProperties,
  requireReference,
} from './application.js'
import { parseAttributes } from './attributes.js'
import type { FileAction } from './files.js'
import { migrationNames } from './migration-names.js'
import { modelNamesOf, namesOf, type Names } from './names.js'
import { isApi, registration } from './registration.js'
import { localsOf } from './resource-locals.js'
import { renderScaffolds } from './templates.js'

/** What `kit generate resource` is told beside the name. */
export interface ResourceOptions {
  /** `title`, `body:text`, ... */
  attributes?: readonly string[]
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

/**
 * The steps that make a resource: the files that are written, and its registration in src/app.ts.
 *
 * @param folder the application's folder
 * @throws CommandError whose sentence says what is wrong
 */
export function resourceActions(folder: string, word: string, options: ResourceOptions = {}): FileAction[] {
  readApplication(folder)
  const parent = options.parent === undefined ? undefined : existingNames(folder, options.parent)
  if (parent) requireParent(folder, parent)
  const names = namesOf(word, parent)
  const attributes = parseAttributes(options.attributes ?? [], keysOf(parent))
  for (const attribute of attributes) requireReference(folder, names.plural, attribute)
  if (options.useModel !== undefined) {
    requireProperties(folder, modelNamesOf(options.useModel), attributes, parent)
  }
  return stepsOf(folder, word, options)
}

/** The same steps, whatever else there is in the application: destroy asks for those that generate has done. */
export function stepsOf(folder: string, word: string, options: ResourceOptions = {}): FileAction[] {
  const kind = isApi(readApplication(folder)) ? 'api' : 'web'
  const parent = options.parent === undefined ? undefined : existingNames(folder, options.parent)
  const names = namesOf(word, parent)
  const attributes = parseAttributes(options.attributes ?? [], keysOf(parent))
  const model = options.useModel === undefined ? names : modelNamesOf(options.useModel)
  const scaffolds = [
    'resource/common',
    `resource/${kind}`,
    ...(parent ? [`resource/nested-${kind}`] : []),
    ...(options.fullSpec ? ['resource/full-common', `resource/full-${kind}`] : []),
  ]
  const migration = migrationNames(folder, `create_${names.plural}`, options.now)
  const paths = { plural: names.file, singular: model.singular, migration: migration.file }
  const locals = localsOf(kind, names, model, attributes, migration.className)
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
