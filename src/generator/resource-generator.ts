import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { camelize } from 'inflection'
import { CommandError, NoApplication } from '../errors.js'
import { parseAttributes, type Attribute } from './attributes.js'
import type { FileAction } from './files.js'
import { listOf } from './lines.js'
import { migrationNames } from './migration-names.js'
import { humanize } from '../names.js'
import { namesOf, type Names } from './names.js'
import { modelImportsOf, relativePath } from './paths.js'
import { applicationName, isApi, isRegistered, registration } from './registration.js'
import { specLocals, specPaths } from './spec-locals.js'
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
  const app = readApplication(folder)
  if (options.parent !== undefined) requireParent(folder, app, namesOf(options.parent))
  const own = namesOf(word)
  for (const { reference } of parseAttributes(options.attributes ?? []))
    if (reference) requireModel(folder, reference, own)
  if (options.useModel !== undefined) requireModel(folder, namesOf(options.useModel))
  return stepsOf(folder, word, options)
}

/** The same steps, whatever else there is in the application: destroy asks for those that generate has done. */
export function stepsOf(folder: string, word: string, options: ResourceOptions = {}): FileAction[] {
  const app = readApplication(folder)
  const parent = options.parent === undefined ? undefined : namesOf(options.parent)
  const names = namesOf(word, parent)
  const taken = parent ? [`${parent.singular}_id`, parent.singular] : []
  const attributes = parseAttributes(options.attributes ?? [], taken)
  const model = options.useModel === undefined ? names : namesOf(options.useModel)
  const kind = isApi(app) ? 'api' : 'web'
  const scaffolds = [
    'resource/common',
    `resource/${kind}`,
    ...(parent ? [`resource/nested-${kind}`] : []),
    ...(options.fullSpec ? ['resource/full-common', `resource/full-${kind}`] : []),
  ]
  const migration = migrationNames(folder, `create_${names.plural}`, options.now)
  const paths = { plural: names.file, singular: model.singular, migration: migration.file }
  const locals = localsOf(kind, names, model, parent, attributes, migration.className)
  const files = renderScaffolds(folder, scaffolds, paths, locals)
  return [...files.filter(({ path }) => isWanted(path, options)), registration(names)]
}

/** What the scaffolds read. Whatever there is to decide has been decided here. */
function localsOf(
  kind: 'web' | 'api',
  names: Names,
  model: Names,
  parent: Names | undefined,
  attributes: readonly Attribute[],
  migrationClass: string,
) {
  const references = attributes.flatMap((attribute) =>
    attribute.reference ? [{ ...attribute.reference, attribute }] : [],
  )
  const title = attributes.find(({ kind, isRequired }) => kind === 'string' && isRequired)
  const header = title ?? attributes.find((one) => one.isRequired && one.kind !== 'json') ?? ID
  const scope = names.namespace.map((part) => `${part}.`).join('')
  return {
    ...names,
    model: model.model,
    parent,
    /** `post_id`, or `post_id: blog_post_id` where the parameter is called otherwise. */
    parentKey: parent && keyOf(parent),
    parentPath: parent && relativePath(`src/actions/${names.file}`, `src/actions/${parent.file}`),
    attributes,
    references,
    /** The attribute that a page is headed with. */
    title,
    /** The attribute that a row of the list is headed with. */
    header,
    others: attributes.filter((attribute) => attribute !== header),
    /** The attributes that a page lists beneath its heading. */
    details: attributes.filter((attribute) => attribute !== title),
    heading: title
      ? { title: title.show(names.one, model.singular), h1: title.show(names.one, model.singular) }
      : { title: `| ${names.words.One}`, h1: ` ${names.words.One}` },
    example: { name: attributes[0]?.name ?? 'id', words: humanize(attributes[0]?.name ?? 'id') },
    /** The records that a form offers to choose from, of each model once. */
    choices: [...new Map(references.map((reference) => [reference.many, reference])).values()].map(
      (names) => ({
        ...names,
        finder: `find${camelize(names.many)}`,
      }),
    ),
    formLocals: [names.one, ...new Set(references.map(({ many }) => many))].join(', '),
    models: modelImportsOf(model, kind === 'api' ? [] : references, parent, `src/actions/${names.file}`),
    handlers: handlersOf(names.words),
    message: `${scope}${names.singular}`,
    /** What the record is called in texts and in XML. */
    record: model.singular,
    calls: callsOf(names, parent),
    spec: specLocals(names, model, references, attributes, parent),
    modelSpec: specPaths(`spec/models/${model.singular}`, model),
    required: attributes.filter(({ isRequired }) => isRequired),
    modelImports: modelImports(attributes, parent),
    relations: relationsOf(references, parent),
    imports: modelImportsOf(undefined, references, parent, `src/models/${names.singular}`).filter(
      ({ model }) => model !== names.model,
    ),
    migrationClass,
    columns: columnsOf(attributes, parent),
    indices: indicesOf(names, attributes, parent),
  }
}

/** How templates write the paths. */
function callsOf({ paths, one }: Names, parent: Names | undefined) {
  return {
    collection: `${paths.collection}(${parent?.one ?? ''})`,
    collectionOfItem: `${paths.collection}(${parent ? `${one}.${parent.singular}_id` : ''})`,
    new: `${paths.new}(${parent?.one ?? ''})`,
    item: `${paths.item}(${one})`,
    edit: `${paths.edit}(${one})`,
  }
}

function modelImports(attributes: readonly Attribute[], parent: Names | undefined) {
  const hasRelations = parent !== undefined || attributes.some(({ reference }) => reference)
  const typeorm = [
    (attributes.length > 0 || hasRelations) && 'Column',
    'Entity',
    ...(hasRelations ? ['JoinColumn', 'ManyToOne'] : []),
    'type EntityManager',
    hasRelations && 'type Relation',
  ]
  const kit = ['Model', attributes.some(({ isRequired }) => isRequired) && 'Present', 'type ValidationErrors']
  return { kit: kit.filter(Boolean).join(', '), typeorm: typeorm.filter(Boolean).join(', ') }
}

type Reference = Names & { attribute: Attribute }

/** The foreign keys of a table, that of the parent last. */
function relationsOf(references: readonly Reference[], parent: Names | undefined) {
  return [
    ...references.map(({ attribute, ...reference }) => ({
      column: attribute.name,
      names: reference,
      isNullable: attribute.isNullable,
      cascade: false,
    })),
    ...(parent ? [{ column: `${parent.singular}_id`, names: parent, isNullable: false, cascade: true }] : []),
  ]
}

/** What each handler does, for the placeholders of its specs. */
function handlersOf({ one, many, aOne }: Names['words']) {
  const all: ReadonlyArray<readonly [handler: string, sentence: string]> = [
    ['list', `shows one page of ${many}, newest first`],
    ['show', `shows one ${one}`],
    ['new', `shows the form for a new ${one}`],
    ['create', `adds ${aOne}`],
    ['edit', `shows the form for changing ${aOne}`],
    ['update', `changes ${aOne}`],
    ['destroy', `deletes ${aOne}`],
  ]
  return { web: all, api: all.filter(([handler]) => handler !== 'new' && handler !== 'edit') }
}

function keyOf({ singular, param }: Names): string {
  return param === `${singular}_id` ? param : `${singular}_id: ${param}`
}

/** What a row of a list is headed with where no attribute will do. */
const ID: Pick<Attribute, 'name' | 'show'> = { name: 'id', show: (variable) => `= ${variable}.id` }

function columnsOf(attributes: readonly Attribute[], parent: Names | undefined): string {
  const columns = [
    'primaryKey(runner)',
    ...attributes.map(({ migration }) => migration),
    ...(parent ? [`column(runner, '${parent.singular}_id', 'uuid')`] : []),
    '...timestamps(runner)',
  ]
  return listOf(8, 'columns', columns)
}

function indicesOf({ plural }: Names, attributes: readonly Attribute[], parent: Names | undefined): string {
  const indexed = attributes.filter(({ isIndexed }) => isIndexed).map(({ name }) => [name])
  if (parent) indexed.push([`${parent.singular}_id`, 'id'])
  const indices = indexed.map(([first, ...rest]) => {
    const columns = [first, ...rest].map((column) => `'${column}'`).join(', ')
    return `{ name: '${plural}_${first}', columnNames: [${columns}] }`
  })
  return indices.length > 0 ? listOf(8, 'indices', indices, indices.length > 1) : ''
}

function isWanted(path: string, options: ResourceOptions): boolean {
  const withoutModel = options.skipModel === true || options.useModel !== undefined
  if (/^(src|spec)\/models\//.test(path)) return !withoutModel
  if (path.startsWith('migrations/')) return !withoutModel && !options.skipMigration
  return !(path.startsWith('templates/') && options.skipTemplates)
}

/** The text of src/app.ts. */
export function readApplication(folder: string): string {
  const file = join(folder, 'src/app.ts')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (applicationName(text) === undefined) throw new NoApplication(folder)
  return text
}

function requireParent(folder: string, app: string, parent: Names): void {
  const file = join(folder, `src/actions/${parent.file}.ts`)
  if (!existsSync(file) || !isRegistered(app, parent.resource)) {
    throw new CommandError(
      `The parent ${parent.resource} is not registered in src/app.ts. Generate it first: kit generate resource ${parent.singular}.`,
    )
  }
  if (/^@Parent\(/m.test(readFileSync(file, 'utf8'))) {
    throw new CommandError(
      `The parent ${parent.resource} is nested itself, and resources are generated one level deep. ` +
        `Generate it without --parent, and nest it by hand.`,
    )
  }
}

function requireModel(folder: string, model: Names, own?: Names): void {
  if (model.model === own?.model || existsSync(join(folder, `src/models/${model.singular}.ts`))) return
  throw new CommandError(
    `There is no model ${model.model} in src/models/${model.singular}.ts. Generate it first: kit generate resource ${model.singular}.`,
  )
}
