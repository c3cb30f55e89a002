import { camelize } from 'inflection'
import type { Attribute } from './attributes.js'
import type { Reference } from './attribute-words.js'
import type { Names } from './names.js'
import { nestingOf, type Nesting } from './nesting.js'
import { modelImportsOf, relativePath } from './paths.js'
import type { ResourcePlan } from './resource-generator.js'
import { routeLocals, type AddedRoute } from './routes.js'
import { specLocals, specPaths } from './spec-locals.js'
import { textsOf } from './texts.js'
import { columnsOf, indicesOf } from './tables.js'

/** The variables of the scaffolds. All decisions are made here, so that the scaffolds only print. */
export function localsOf(plan: ResourcePlan, migrationClass: string, hasLabels: boolean) {
  const { kind, names, model, attributes: all, routes } = plan
  const attributes = all.filter(({ isSecret }) => !isSecret)
  const { parent, one } = names
  const nesting = nestingOf(names)
  const file = `src/actions/${names.file}`
  const references = referencesOf(attributes)
  const choices = choicesOf(references)
  const added = routeLocals(routes, kind, names, nesting)
  const title = attributes.find(({ kind, isRequired }) => kind === 'string' && isRequired)
  const header = title ?? attributes.find((one) => one.isRequired && one.kind !== 'json') ?? ID
  const indexed = all.filter(({ isIndexed }) => isIndexed).map(({ name }) => [name])
  if (parent) indexed.push([`${parent.singular}_id`, 'id'])
  return {
    ...names,
    model: model.model,
    nesting,
    parentPath: parent && relativePath(file, `src/actions/${parent.file}`),
    /** The attributes that pages and requests have: all except secrets. */
    attributes,
    references,
    /** All attributes, for the model and its migration. */
    all,
    /** The attribute that is the heading of a page. */
    title,
    /** The attribute that is the heading of a row in the list. */
    header,
    /** The other attributes in the list. More columns would be unreadable; an item's page shows all attributes. */
    others: attributes
      .filter((attribute) => attribute !== header && attribute.kind !== 'json')
      .slice(0, COLUMNS - 1),
    /** The attributes that a page lists below its heading. */
    details: attributes.filter((attribute) => attribute !== title),
    heading: title
      ? { title: title.show(one, model.singular), h1: title.show(one, model.singular) }
      : { title: `= t('${names.ids.one}')`, h1: `= t('${names.ids.one}')` },
    /** The attributes that a request may set, as a list in the source. */
    fields: `[${attributes.map(({ name }) => `'${name}'`).join(', ')}]`,
    example: attributes[0]?.name ?? 'id',
    choices,
    pages: pagesOf(names, nesting, references, choices),
    ...added,
    kitImports: kitImports(names, kind === 'api' ? [] : choices, routes),
    models: modelImportsOf([model, ...(kind === 'api' ? [] : choices), ...nesting.parents], file),
    handlers: handlersOf(names, added.routes),
    /** The name of the record in translation ids and in XML. */
    record: model.singular,
    texts: textsOf(names, added.routes, hasLabels ? { record: model.singular, attributes } : undefined),
    calls: callsOf(names, nesting),
    named: namedOf(names, nesting),
    spec: specLocals(names, nesting, model, references, attributes),
    modelSpec: specPaths(`spec/models/${model.singular}`, model),
    required: attributes.filter(({ isRequired }) => isRequired),
    modelImports: modelImports(all, parent),
    relations: relationsOf(referencesOf(all), parent),
    imports: modelImportsOf(
      [...referencesOf(all).map((reference) => reference.model), ...(parent ? [parent] : [])],
      `src/models/${names.singular}`,
    ).filter(({ model }) => model !== names.model),
    migrationClass,
    columns: columnsOf(all, parent && `${parent.singular}_id`),
    indices: indicesOf(names.plural, indexed),
  }
}

/** The arguments of `ctx.pathFor` in handlers. */
function namedOf({ paths }: Names, { parentRecords, records }: Nesting) {
  return {
    collection: [`'${paths.collection}'`, ...(parentRecords ? [parentRecords] : [])].join(', '),
    item: [`'${paths.item}'`, ...(records ? [records] : [])].join(', '),
  }
}

/** The calls of path helpers in templates. */
function callsOf({ paths }: Names, { parentRecords, records, collection }: Nesting) {
  return {
    collection: `${paths.collection}(${parentRecords})`,
    collectionOfItem: `${paths.collection}(${collection.page})`,
    new: `${paths.new}(${parentRecords})`,
    item: `${paths.item}(${records})`,
    edit: `${paths.edit}(${records})`,
  }
}

/**
 * The local variables of the pages, and the beginning of the functions that render them. These functions load relations and
 * choices, because a response in JSON does not need them.
 */
function pagesOf(
  { one, many }: Names,
  { parents, before }: Nesting,
  references: readonly AttributeReference[],
  choices: readonly Choice[],
) {
  const relations = references.map(({ property }) => `'${property}'`).join(', ')
  const loaded = (name: string) => (relations ? `${name}: await ctx.load(${name}, ${relations})` : name)
  const offered = choices.map(({ many, finder }) => `${many}: await this.${finder}(ctx)`)
  return {
    function: relations ? 'async () =>' : '() =>',
    index: [...parents.map((names) => names.one), loaded(many), 'pagination'].join(', '),
    show: [...before.map((names) => names.one), loaded(one)].join(', '),
    new: [...parents.map((names) => names.one), one, ...offered].join(', '),
    edit: [...before.map((names) => names.one), one, ...offered].join(', '),
  }
}

type Choice = Names & { finder: string }

/** The records that a form offers as choices, once for each model, and the method that finds them. */
function choicesOf(references: readonly AttributeReference[]): Choice[] {
  const models = new Map(references.map(({ model }) => [model.many, model]))
  return [...models.values()].map((names) => ({ ...names, finder: `find${camelize(names.many)}` }))
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

/** The imports of a resource from the framework. */
function kitImports(
  { parent, isSingular }: Names,
  choices: readonly Choice[],
  routes: readonly AddedRoute[],
): string {
  const all = [
    'BaseResource',
    isSingular && 'HttpError',
    parent && 'Parent',
    isSingular && 'RecordNotFound',
    'Resource',
    routes.length > 0 && 'Route',
    choices.length > 0 && 'sortByLabel',
    isSingular && 'transactionOptions',
    isSingular && 'Use',
    'type Context',
  ]
  return all.filter(Boolean).join(', ')
}

type AttributeReference = Reference & { attribute: Attribute }

function referencesOf(attributes: readonly Attribute[]): AttributeReference[] {
  return attributes.flatMap((attribute) =>
    attribute.reference ? [{ ...attribute.reference, attribute }] : [],
  )
}

/** The foreign keys of a table. That of the parent is the last one. */
function relationsOf(references: readonly AttributeReference[], parent: Names | undefined) {
  return [
    ...references.map(({ attribute, property, model }) => ({
      column: attribute.name,
      property,
      names: model,
      isNullable: attribute.isNullable,
      cascade: false,
    })),
    ...(parent
      ? [
          {
            column: `${parent.singular}_id`,
            property: parent.singular,
            names: parent,
            isNullable: false,
            cascade: true,
          },
        ]
      : []),
  ]
}

/** A description of each handler, for the placeholders of its specs. */
function handlersOf(
  { isSingular, words: { one, many, aOne } }: Names,
  routes: readonly { handler: string; sentence: string }[],
) {
  const all: ReadonlyArray<readonly [handler: string, sentence: string]> = [
    ...(isSingular ? [] : [['list', `shows one page of ${many}, newest first`] as const]),
    ['show', `shows ${aOne}`],
    ['new', `shows the form for a new ${one}`],
    ['create', `adds ${aOne}`],
    ['edit', `shows the form to edit ${aOne}`],
    ['update', `changes ${aOne}`],
    ['destroy', `deletes ${aOne}`],
    ...routes.map(({ handler, sentence }) => [handler, sentence] as const),
  ]
  return { web: all, api: all.filter(([handler]) => handler !== 'new' && handler !== 'edit') }
}

/** The maximum number of columns in a list. */
const COLUMNS = 6

/** The heading of a row if no attribute is suitable. */
const ID: Pick<Attribute, 'name' | 'show'> = { name: 'id', show: (variable) => `= ${variable}.id` }
