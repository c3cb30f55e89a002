import type { Attribute } from './arguments/attributes.js'
import type { Reference } from './arguments/attribute-argument.js'
import { listLocals, orderOf, prefixColumns, sortedColumns, timestampsOf } from './list-locals.js'
import type { ListPlan } from './arguments/lists.js'
import type { Names } from './arguments/names.js'
import { nestingOf, type Nesting } from './arguments/nesting.js'
import { quote } from './files/lines.js'
import { modelImportsOf, relativePath } from './files/paths.js'
import type { ResourcePlan } from './resource-generator.js'
import { routeLocals, type AddedRoute } from './arguments/routes.js'
import { specLocals, specPaths, type AttributeReference } from './spec-locals.js'
import { textsOf } from './texts.js'
import { indexName, tableLocals } from './tables.js'

/** The variables of the scaffolds. All decisions are made here, so that the scaffolds only print. */
export function localsOf(plan: ResourcePlan, migrationClass: string, otherIds: ReadonlySet<string>) {
  const { kind, names, model, routes, list, owner, guards } = plan
  const isRootGuarded = guards.some((one) => one.parent === undefined)
  const nesting = nestingOf({ ...names, model: model.model }, isRootGuarded, owner)
  const attributes = plan.attributes.filter(({ isSecret }) => !isSecret)
  const references = referencesOf(attributes)
  const choices = choicesOf(names.one, references)
  const added = routeLocals(routes, names, nesting)
  return {
    ...names,
    command: plan.command,
    isWeb: kind === 'web',
    model: model.model,
    nesting,
    /** The attributes that pages and requests have: all except secrets. */
    attributes,
    choices,
    list: listLocals(list, names, includesOf(plan, references)),
    order: orderOf(list),
    ...added,
    ...handlerLocals(plan, nesting, attributes, choices),
    handlers: handlersOf(names, added.routes, orderOf(list)),
    ...headingLocals(plan, attributes),
    pages: pagesOf(names, nesting, references, choices, list),
    /** The name of the record in translation ids and in XML. */
    record: model.singular,
    texts: textsOf(names, added.routes, { record: model.singular, attributes }, otherIds),
    calls: callsOf(names, nesting),
    named: namedOf(names, nesting),
    spec: specLocals(names, nesting, model, references, attributes, plan),
    accept: acceptOf(plan),
    modelSpec: specPaths(`spec/models/${model.singular}`, model),
    required: attributes.filter(({ isRequired }) => isRequired),
    ...modelLocals(plan),
    migrationClass,
  }
}

/** The variables of the handlers and of the policy. */
function handlerLocals(
  { kind, names, model, routes, list, owner, guards }: ResourcePlan,
  nesting: Nesting,
  attributes: readonly Attribute[],
  choices: readonly Choice[],
) {
  const file = `src/actions/${names.file}`
  const policy = `src/policies/${model.singular}`
  const find = `await this.find${model.model}(${nesting.item.arguments})`
  return {
    /** The model that owns the records, and the imports of the handlers and the policy. */
    owner,
    ownership: {
      policy: relativePath(file, policy),
      authentication: relativePath(file, 'src/authentication'),
    },
    policyModels: modelImportsOf(owner ? [model, owner] : [], policy),
    find,
    /** Finds the record of a handler that changes it. */
    found: owner ? `await ctx.authorize(${find})` : find,
    /** The parent whose policy the handlers call, because the resource has none. */
    guard: owner ? undefined : guards[0]?.one,
    parentPath: names.parent && relativePath(file, `src/actions/${names.parent.file}`),
    /** The attributes that a request may set, as a list in the source. */
    fields: `[${attributes.map(({ name }) => `'${name}'`).join(', ')}]`,
    kitImports: kitImports(names, routes, list !== undefined, owner !== undefined),
    models: modelImportsOf([model, ...(kind === 'api' ? [] : choices), ...nesting.parents], file),
  }
}

/** The variables of the pages of a record and of a list: their headings, columns and details. */
function headingLocals({ names, model, list }: ResourcePlan, attributes: readonly Attribute[]) {
  const title = attributes.find(({ kind, isRequired }) => kind === 'string' && isRequired)
  const header = title ?? attributes.find((one) => one.isRequired && one.kind !== 'json') ?? ID
  const columns = attributes.filter((one) => one !== header && one.kind !== 'json' && !one.isList)
  const timestamps = timestampsOf(list).map((name) => ({
    name,
    show: (variable: string) => `!= time(${variable}.${name})`,
  }))
  return {
    /** The attribute that is the heading of a page. */
    title,
    heading: title ? title.show(names.one, model.singular) : `= t('${names.ids.one}')`,
    /** The attributes that a page lists below its heading. */
    details: attributes.filter((attribute) => attribute !== title),
    /** The attribute that is the heading of a row in the list. */
    header,
    /** The other columns of the list: at most six with the header, and the timestamps that it is sorted by. */
    columnsOfList: [...columns.slice(0, COLUMNS - 1), ...timestamps],
  }
}

/** The variables of the model and of its migration. */
function modelLocals({ names, attributes: all, uniques, list, owner }: ResourcePlan) {
  const belongsTo = [owner, names.parent].filter((one) => one !== undefined)
  const keys = belongsTo.map(({ singular }) => `${singular}_id`)
  // The list of a nested resource has conditions on its parent, and with an owner on both.
  const leading = names.isSingular ? [] : keys.toReversed()
  const onePerOwner = names.isSingular && owner ? [keys] : []
  const pairs = [...onePerOwner, ...uniques].map((columns) => ({
    name: columns.join('_'),
    columns,
    isUnique: true,
  }))
  const indices = [...indexesOf(all, sortedColumns(list, all), leading), ...pairs]
  const table = tableLocals(names.plural, all, indices, belongsTo, prefixColumns(list))
  const related = [...all.flatMap(({ reference }) => reference?.model ?? []), ...belongsTo]
  return {
    ...table,
    /** All attributes, also the secret ones. */
    all,
    /** The foreign keys of the parent and of the owner. */
    keys,
    ownerKey: owner && `${owner.singular}_id`,
    modelImports: modelImports(all, table.relations.length > 0, pairs.length > 0),
    imports: modelImportsOf(related, `src/models/${names.singular}`).filter(
      ({ model }) => model !== names.model,
    ),
    /** The unique indexes of several columns. */
    uniques: pairs.map(({ name, columns }) => ({
      name: indexName(names.plural, name),
      list: columns.map(quote).join(', '),
    })),
  }
}

/** The option `accept` of requests in the specs of an API: its own options, and beside others. A web application prefers HTML. */
function acceptOf({ kind, application }: ResourcePlan) {
  return kind === 'api' && application === 'web'
    ? { only: ", { accept: 'json' }", also: ", accept: 'json'" }
    : { only: '', also: '' }
}

/** The arguments of `ctx.pathFor` in handlers. */
function namedOf({ paths }: Names, { parentRecords, records, collection }: Nesting) {
  const argumentsOf = (name: string, given: string) => `'${name}'${given && `, ${given}`}`
  return {
    collection: argumentsOf(paths.collection, parentRecords),
    collectionOfItem: argumentsOf(paths.collection, collection.handler),
    item: argumentsOf(paths.item, records),
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
  list: ListPlan | undefined,
) {
  const shown = references.map(({ property }) => `'${property}'`)
  const listed = references
    .filter(({ attribute }) => !attribute.isList)
    .map(({ property }) => `'${property}'`)
  const loaded = (name: string, relations: readonly string[]) =>
    relations.length > 0 ? `${name}: await ctx.load(${name}, ${relations.join(', ')})` : name
  const offered = choices.length > 0 ? [`...(await this.findChoices(ctx, ${one}))`] : []
  // The records of the list have the name that choices of the same model would have.
  const filtered = choicesOf(
    one,
    references.filter(({ attribute, model }) => list?.filters.includes(attribute) && model.many !== many),
  )
  return {
    list: functionOf(listed.length > 0 || filtered.length > 0),
    function: functionOf(shown.length > 0),
    form: functionOf(choices.length > 0),
    index: [
      ...parents.map((names) => names.one),
      loaded(many, listed),
      'pagination',
      ...(list ? ['query'] : []),
      ...filtered.map((names) => `${names.many}: await ctx.choices(${names.model})`),
    ].join(', '),
    show: [...before.map((names) => names.one), loaded(one, shown)].join(', '),
    new: [...parents.map((names) => names.one), one, ...offered].join(', '),
    edit: [...before.map((names) => names.one), one, ...offered].join(', '),
  }
}

function functionOf(isAsync: boolean): string {
  return isAsync ? 'async () =>' : '() =>'
}

/**
 * The columns of each index: of attributes that ask for one, of those that the list is sorted by, and of the keys of the parent
 * and the owner.
 *
 * @param leading the keys on which every list has conditions
 */
function indexesOf(attributes: readonly Attribute[], sorted: readonly string[], leading: readonly string[]) {
  const indexed = attributes.filter(({ name, isIndexed }) => isIndexed || sorted.includes(name))
  const names = new Set([...indexed.map(({ name }) => name), ...sorted])
  return [
    ...[...names].map((name) => ({
      columns: sorted.includes(name) ? [...leading, name, 'id'] : [name],
      name,
    })),
    ...(leading.length > 0 ? [{ columns: [...leading, 'id'] }] : []),
    ...leading.slice(1).map((column) => ({ columns: [column] })),
  ]
}

/** The records that a form offers, and the ids of the selected ones: `issue.assignee_id, issue.author_id`. */
type Choice = Names & { selected: string }

/** The records that a form offers as choices, once for each model. */
function choicesOf(one: string, references: readonly AttributeReference[]): Choice[] {
  const models = new Map(references.map(({ model }) => [model.many, model]))
  return [...models].map(([many, names]) => {
    const own = references.filter(({ model }) => model.many === many)
    return { ...names, selected: own.map(({ attribute }) => `${one}.${attribute.name}`).join(', ') }
  })
}

function modelImports(attributes: readonly Attribute[], hasKeys: boolean, hasPairs: boolean) {
  const hasLists = attributes.some(({ isList }) => isList)
  const typeorm = [
    (hasKeys || attributes.some(({ isList }) => !isList)) && 'Column',
    'Entity',
    hasPairs && 'Index',
    hasKeys && 'JoinColumn',
    hasLists && 'JoinTable, ManyToMany',
    hasKeys && 'ManyToOne',
    (hasKeys || hasLists) && 'type Relation',
  ]
  const kit = [
    'Model',
    attributes.some(({ isRequired }) => isRequired) && 'Present',
    hasLists && 'RelationIds',
  ]
  return { kit: kit.filter(Boolean).join(', '), typeorm: typeorm.filter(Boolean).join(', ') }
}

/** The imports of a resource from the framework. */
function kitImports(
  { parent, isSingular }: Names,
  routes: readonly AddedRoute[],
  hasQueries: boolean,
  hasOwner: boolean,
): string {
  const all = [
    'BaseResource',
    isSingular && 'HttpError',
    parent && 'Parent',
    hasQueries && 'Queryable',
    isSingular && !hasOwner && 'RecordNotFound',
    'Resource',
    routes.length > 0 && 'Route',
    isSingular && !hasOwner && 'transactionOptions',
    isSingular && !hasOwner && 'Use',
    'type Context',
  ]
  return all.filter(Boolean).join(', ')
}

function referencesOf(attributes: readonly Attribute[]): AttributeReference[] {
  return attributes.flatMap((attribute) =>
    attribute.reference ? [{ ...attribute.reference, attribute }] : [],
  )
}

/** The relations to accounts that a list can include. Without a list of attributes, clients would see all of them. */
function includesOf(
  { accounts, publicAttributes }: ResourcePlan,
  references: readonly Reference[],
): string[] {
  const shown = publicAttributes.map((name) => `'${name}'`).join(', ')
  return references
    .filter(({ model }) => model.model === accounts?.model)
    .map(({ property }) => `${property}: [${shown}]`)
}

/** A description of each handler, for the placeholders of its specs. */
function handlersOf(
  { isSingular, words: { one, many, aOne } }: Names,
  routes: readonly { handler: string; sentence: string }[],
  order: string,
) {
  const all: ReadonlyArray<readonly [handler: string, sentence: string]> = [
    ...(isSingular ? [] : [['list', `shows one page of ${many}, ${order}`] as const]),
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
