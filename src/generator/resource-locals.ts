import {
  isReference,
  isTitle,
  positionAttributes,
  trashAttributes,
  versionAttributes,
  type Attribute,
  type ReferenceAttribute,
} from './arguments/attributes.js'
import { hasFiles } from './file-steps.js'
import { listLocals, orderOf, prefixColumns, sortedColumns, timestampsOf } from './list-locals.js'
import type { Team } from './application.js'
import type { ListPlan } from './arguments/lists.js'
import { defaultPathName } from '../naming/names.js'
import type { Names } from './arguments/names.js'
import type { NestedPlan } from './arguments/nested.js'
import { humanize } from '../naming/words.js'
import { nestedLocals, referencesOf, selectedOf } from './nested-lists.js'
import { nestingOf, type Nesting } from './nesting.js'
import { modelImportsOf, quote, relativePath } from './files/lines.js'
import { planOfLines, type ResourcePlan } from './resource-plan.js'
import { routeLocals } from './arguments/routes.js'
import { policySpecPaths, specLocals, specPaths } from './spec-locals.js'
import { labelsOf, yaml } from './texts.js'
import { tableLocals, uniqueIndex, whyIndexed } from './tables.js'

/** The variables of the scaffolds. All decisions are made here, so that the scaffolds only print. */
export function localsOf(plan: ResourcePlan, migrationClass: string, otherIds: ReadonlySet<string>) {
  const { names, model, list, owner, guards } = plan
  const isRootGuarded = guards.some(({ parent }) => parent === undefined)
  const nesting = nestingOf({ ...names, model: model.model }, isRootGuarded, owner, plan.hasTrash)
  const attributes = plan.attributes.filter(({ isSecret }) => !isSecret)
  const references = attributes.filter(isReference)
  const choices = choicesOf(names.one, references, plan.nested)
  const nested = nestedLocals(plan)
  const queries = listLocals(list, names, includesOf(plan, references))
  return {
    ...names,
    command: plan.command,
    handlersCommand: plan.handlersCommand,
    isWeb: plan.kind === 'web',
    model: model.model,
    nesting,
    /** The attributes that pages and requests have: all except secrets. */
    attributes,
    hasFiles: hasFiles(attributes),
    required: attributes.filter(({ isRequired }) => isRequired),
    choices,
    list: queries,
    nested,
    /** Its options for many records at once. */
    atOnce: {
      ...plan.many,
      hasButtons: plan.many.csv !== undefined || plan.many.import !== undefined,
      hasBoxes: plan.many.bulk.some((action) => action !== 'update'),
      /** The ability for which the list has boxes. */
      ability: plan.many.bulk.find((action) => action !== 'update'),
      importPath: defaultPathName(`${names.fullPath}/import`),
    },
    order: orderOf(list),
    hasHistory: plan.hasHistory,
    hasTrash: plan.hasTrash,
    ...routeLocals(plan.routes, names, nesting),
    ...handlerLocals(plan, nesting, attributes, choices),
    ...headingLocals(plan, attributes),
    pages: pagesOf(plan, nesting, references, choices, freshLocals(plan, nesting).fresh),
    /** The name of the record in translation ids and in XML. */
    record: model.singular,
    labels: labelsOfRecord(plan, attributes, otherIds),
    yaml,
    ...pathLocals(names, nesting),
    behind: behindOf(plan),
    spec: specLocals(plan, nesting, attributes, queries?.query ?? []),
    modelSpec: specPaths(`spec/models/${model.singular}`, model),
    policySpec: policySpecPaths(plan),
    ...modelLocals(plan),
    ...tablesOf(plan),
    listOf: plan.listOf,
    migrationClass,
  }
}

/** The tables of the migration, and the functions that it calls. */
function tablesOf(plan: ResourcePlan) {
  const all = [plan, ...plan.nested.map((list) => planOfLines(plan, list))]
  const tables = all.map((one) => ({ table: one.names.plural, ...modelLocals(one) }))
  const functions = new Set(tables.flatMap((table) => table.functions))
  return { tables, functions: [...functions].toSorted().join(', ') }
}

/** The labels of a record and of its lines. */
function labelsOfRecord(
  { model, nested, hasTrash }: ResourcePlan,
  attributes: readonly Attribute[],
  otherIds: ReadonlySet<string>,
) {
  const dates = ['created_at', 'updated_at', ...(hasTrash ? ['deleted_at'] : [])]
  const ofLines = nested.flatMap(({ name, item, names, attributes: own }) => [
    { id: `${model.singular}.${name}`, text: humanize(name) },
    { id: `${model.singular}.${item}`, text: humanize(item) },
    ...labelsOf(
      names.singular,
      own.filter(({ isSecret }) => !isSecret),
      otherIds,
      [],
    ),
  ])
  return [...labelsOf(model.singular, attributes, otherIds, dates), ...ofLines]
}

/** The variables of the handlers and of the policy. */
function handlerLocals(
  plan: ResourcePlan,
  nesting: Nesting,
  attributes: readonly Attribute[],
  choices: readonly Choice[],
) {
  const { kind, names, model, owner, team, guards } = plan
  const file = `src/actions/${names.file}`
  const policy = `src/policies/${model.singular}`
  const find = `await this.find${model.model}(${nesting.item.arguments})`
  const findTrashed = `await this.find${model.model}(${nesting.item.arguments}, { trashed: true })`
  const hasPages = kind === 'web'
  return {
    handlers: [
      ...HANDLERS,
      ...(plan.hasHistory ? ['history'] : []),
      ...(plan.hasTrash ? ['trash', 'restore', 'purge'] : []),
    ].filter((name) => !(names.isSingular && name === 'list') && (hasPages || !FORMS.includes(name))),
    /** The path of an item in doc comments. */
    itemPath: names.isSingular ? names.fullPath : `${names.fullPath}/{${names.param}}`,
    resourceOptions: resourceOptionsOf(plan, attributes),
    /** The variables that a handler takes from the result of `ctx.paginate`. */
    paginated: [`records: ${names.many}`, hasPages && 'pagination', hasPages && needsQuery(plan) && 'query']
      .filter(Boolean)
      .join(', '),
    existing: names.isSingular ? existingOf(plan) : undefined,
    /** The model that owns the records, and the imports of the handlers and the policy. */
    owner,
    ownership: {
      policy: relativePath(file, policy),
      authentication: relativePath(file, 'src/authentication'),
    },
    hasPolicy: owner !== undefined || team !== undefined,
    team: team && { ...team.names, path: relativePath(policy, `src/${team.names.plural}`) },
    accounts: plan.accounts,
    abilities: team ? abilitiesOf(team, plan) : [],
    policyModels: modelImportsOf(
      [model, owner ?? (team && plan.accounts)].flatMap((one) => one ?? []),
      policy,
    ),
    ...freshLocals(plan, nesting),
    find,
    findTrashed,
    /** The parent whose policy the handlers call, because the resource has none. */
    guard: owner || team ? undefined : guards[0]?.one,
    parentPath: names.parent && relativePath(file, `src/actions/${names.parent.file}`),
    kitImports: kitImports(plan),
    models: modelImportsOf([model, ...(kind === 'api' ? [] : choices), ...nesting.parents], file),
  }
}

/** The options of `@Resource`. */
function resourceOptionsOf(plan: ResourcePlan, attributes: readonly Attribute[]): string {
  const { names, model, owner, team, nested } = plan
  return [
    names.isSingular && 'singular: true',
    `model: ${model.model}`,
    // The attributes that a request may set.
    `fields: [${[...attributes, ...nested].map(({ name }) => quote(name)).join(', ')}]`,
    (owner || team) && `policy: ${model.model}Policy`,
    ...manyOptions(plan),
    hasPagesBeside(plan) && 'pages: false',
  ]
    .filter(Boolean)
    .join(', ')
}

/** The methods of a policy, with the role from which on they allow something. Deleting needs one role more than writing. */
function abilitiesOf({ roles, write }: Team, { routes, hasHistory, hasTrash }: ResourcePlan) {
  const destroy = roles[Math.max(0, roles.indexOf(write) - 1)] ?? write
  const changes = routes.filter(({ method }) => method !== 'GET').map(({ handler }) => handler)
  const own = hasHistory ? ['history'] : []
  const writing = ['create', 'update', ...own, ...changes.filter((name) => name !== 'destroy')]
  const deleting = ['destroy', ...(hasTrash ? ['restore', 'purge'] : [])]
  return [
    ...writing.map((name) => ({ name, role: write })),
    ...deleting.map((name) => ({ name, role: destroy })),
  ]
}

/** The source of a new record. That of a team has the keys from the beginning, because policies decide by them. */
function freshLocals({ names, model, team }: ResourcePlan, { parents }: Nesting) {
  const given = parents.filter((one) => one.model === team?.names.model || one.model === names.parent?.model)
  const fresh = `this.new${model.model}(${given.map(({ one }) => one).join(', ')})`
  return {
    fresh: team ? fresh : `new ${model.model}()`,
    freshParameters: given.map((it) => `${it.one}: ${it.model}`).join(', '),
    freshKeys: given.map(({ singular, one }) => `${singular}_id: ${one}.id`).join(', '),
  }
}

/** Returns a function that prints a line of a template, in a team below the condition that the user may do it. */
function behindOf({ names, team, home, guards }: ResourcePlan) {
  const [guard] = guards
  return (ability: string | undefined, indent: number, line: string): string => {
    const record = team ? names.one : home && guard?.one
    const pad = ' '.repeat(indent)
    if (ability === undefined || record === undefined) return pad + line
    return `${pad}if can('${team ? ability : 'update'}', ${record})\n${pad}  ${line}`
  }
}

/** The options of `@Resource` for many records. */
function manyOptions({ many: { csv, import: key, bulk } }: ResourcePlan): (string | false)[] {
  const list = (names: readonly string[]): string => `[${names.map(quote).join(', ')}]`
  return [
    csv !== undefined && `csv: ${list(csv)}`,
    key !== undefined && `import: ${key === true ? 'true' : `{ key: ${quote(key)} }`}`,
    bulk.length > 0 && `bulk: ${list(bulk)}`,
  ]
}

/** Whether the page of the list has the query of the request. */
function needsQuery({ list, many }: ResourcePlan): boolean {
  return list !== undefined || many.csv !== undefined || many.bulk.length > 0
}

/** The handlers of a resource in the order of its class. */
const HANDLERS = ['list', 'show', 'new', 'create', 'edit', 'update', 'destroy']
const FORMS = ['new', 'edit']

/** How a singular resource finds out whether its record exists, and the message of the 409 if it does. */
function existingOf({ kind, names, model, owner }: ResourcePlan) {
  const message =
    kind === 'web' ? `ctx.t('${names.ids.one}.exists.error')` : `'The ${names.words.one} already exists.'`
  if (!owner) {
    const exists = `await ctx.tx.exists(${model.model})`
    return { count: [], isThere: exists, isMissing: `!(${exists})`, message }
  }
  const where = `{ where: { ${owner.singular}_id: userOf(ctx).id } }`
  const count = [`const { length } = await ctx.findAll(${model.model}, ${where})`]
  return { count, isThere: 'length > 0', isMissing: 'length === 0', message }
}

/** The variables of the pages of a record and of a list: their headings, columns and details. */
function headingLocals(
  { names, model, list, titleOfParent }: ResourcePlan,
  attributes: readonly Attribute[],
) {
  const title = attributes.find(isTitle)
  const id = { name: 'id', show: (variable: string) => `= ${variable}.id` }
  const header = title ?? attributes.find((one) => one.isRequired && one.kind !== 'json' && !one.file) ?? id
  const columns = attributes.filter(
    (one) => one !== header && one.kind !== 'json' && !one.isList && !one.file,
  )
  const timestamps = timestampsOf(list).map((name) => ({
    name,
    show: (variable: string) => `!= time(${variable}.${name})`,
  }))
  return {
    /** The heading of a page. */
    heading: title ? title.show(names.one, model.singular) : `= t('${names.ids.one}')`,
    /** The texts of the links from the form of a record to its page, and to that of its parent. The form may have a blank title. */
    backToItem: title
      ? `= ${names.one}.${title.name} && ${names.one}.${title.name}.trim() || t('${names.ids.one}')`
      : `= t('${names.ids.one}')`,
    backToParent:
      names.parent &&
      `= ${titleOfParent ? `${names.parent.one}.${titleOfParent}` : `t('${names.parent.ids.one}')`}`,
    /** The attributes that a page lists below its heading. */
    details: attributes.filter((attribute) => attribute !== title),
    /** The attribute that is the heading of a row in the list. */
    header,
    /** The other columns of the list: at most six with the header, and the timestamps that it is sorted by. */
    columnsOfList: [...columns.slice(0, 5), ...timestamps],
  }
}

/** The variables of the model and of its migration. */
function modelLocals(plan: ResourcePlan) {
  const { names, attributes, uniques, list, owner, team, hasVersion, hasTrash, listOf, nested } = plan
  const all = [
    ...attributes,
    ...(hasVersion ? versionAttributes() : []),
    ...(hasTrash ? trashAttributes() : []),
    ...(listOf ? positionAttributes() : []),
  ]
  const other = team?.names.model === names.parent?.model ? undefined : team?.names
  const belongsTo = [owner, other, names.parent].filter((one) => one !== undefined)
  const keys = belongsTo.map(({ singular }) => `${singular}_id`)
  // The list of a resource has a condition on its parent, and one on its owner, if it has them.
  const leading = names.isSingular ? [] : keys.toReversed()
  const onePerOwner = names.isSingular && owner ? [keys] : []
  const pairs = [...onePerOwner, ...uniques].map((columns) =>
    uniqueIndex(columns, names.words.many, hasTrash),
  )
  const last = listOf ? 'position' : 'id'
  const own = indexesOf(names, all, list, leading, last, belongsTo.at(-1)?.words.aOne)
  // A unique index with the same first columns also sorts and finds, unless it leaves out trashed records.
  const kept = own.filter((one) => hasTrash || !uniques.some((columns) => isBeginning(columns, one)))
  const lists = {
    columns: ['deleted_at', 'id'],
    why: `Lists the ${names.words.many} outside of the trash, or in it.`,
  }
  const indices = [...kept, ...(hasTrash ? [lists] : []), ...pairs]
  const table = tableLocals(names.plural, all, indices, belongsTo, prefixColumns(list), team?.names, hasTrash)
  const related = [
    ...all.flatMap(({ reference }) => reference?.model ?? []),
    ...belongsTo,
    ...nested.map((lines) => lines.names),
  ]
  return {
    ...table,
    /** All attributes, also the secret ones. */
    all,
    /** The foreign keys of the parent and of the owner. */
    keys,
    /** The relations to the records that contain the record. */
    enclosures: [names.parent, other].flatMap((one) => (one ? quote(one.singular) : [])).join(', '),
    ownerKey: owner && `${owner.singular}_id`,
    hasVersion,
    modelImports: modelImports(plan, all, table.relations.length > 0, pairs.length > 0),
    imports: modelImportsOf(related, `src/models/${names.singular}`).filter(
      ({ model }) => model !== names.model,
    ),
    /** The unique indexes of several columns. */
    uniques: [...table.indices, ...table.uniquesOutsideTrash].filter(({ isUnique }) => isUnique),
  }
}

function hasPagesBeside({ kind, application }: ResourcePlan): boolean {
  return kind === 'api' && application === 'web'
}

/** The calls of path helpers in templates, and the arguments of `ctx.pathFor` in handlers. */
function pathLocals(
  { paths, fullPath, param, isSingular }: Names,
  { parentRecords, records, collection }: Nesting,
) {
  const trash = defaultPathName(`${fullPath}/trash`)
  const itemPath = isSingular ? fullPath : `${fullPath}/{${param}}`
  const moved = (handler: string) => `${defaultPathName(`${itemPath}/${handler}`)}(${records})`
  const named = (name: string, given: string) => quote(name) + (given && `, ${given}`)
  return {
    calls: {
      collection: `${paths.collection}(${parentRecords})`,
      collectionOfItem: `${paths.collection}(${collection.page})`,
      new: `${paths.new}(${parentRecords})`,
      item: `${paths.item}(${records})`,
      edit: `${paths.edit}(${records})`,
      history: moved('history'),
      trash: `${trash}(${parentRecords})`,
      restore: moved('restore'),
      purge: moved('purge'),
    },
    named: {
      collection: named(paths.collection, parentRecords),
      collectionOfItem: named(paths.collection, collection.handler),
      item: named(paths.item, records),
      trash: named(trash, collection.handler),
    },
  }
}

/**
 * The options of `ctx.respond` that render the pages; empty for an API. Relations and choices are loaded in these functions,
 * because a response in JSON does not need them.
 */
function pagesOf(
  plan: ResourcePlan,
  { parents, before }: Nesting,
  references: readonly ReferenceAttribute[],
  choices: readonly Choice[],
  fresh: string,
) {
  const { kind, list, team } = plan
  const { one, many, file } = plan.names
  const loaded = (name: string, relations: readonly ReferenceAttribute[]) => {
    const properties = relations.map(({ reference }) => quote(reference.property))
    return relations.length > 0 ? `${name}: await ctx.load(${name}, ${properties.join(', ')})` : name
  }
  const offered = choices.length > 0 ? [`...(await this.findChoices(ctx, ${one}))`] : []
  const listed = references.filter(({ isList }) => !isList)
  // Choices of the list's own model are left out: their variable would have the name of the list.
  const filtered = choicesOf(
    one,
    references.filter((one) => list?.filters.includes(one) && one.reference.model.many !== many),
  )
  const page = (isAsync: boolean, template: string, variables: readonly string[]) =>
    `html: ${isAsync ? 'async ' : ''}() => ctx.render('${file}/${template}', { ${variables.join(', ')} })`
  const linesOf = nestedLocals(plan).flatMap(({ variables }) => variables)
  const isShownLoaded = references.length + linesOf.length > 0
  const parentsOfList = parents.map((names) => names.one)
  const parentsOfItem = before.map((names) => names.one)
  const index = [
    ...parentsOfList,
    // Its policy decides about the link to a new record.
    ...(team ? [`${one}: ${fresh}`] : []),
    loaded(many, listed),
    'pagination',
    ...(needsQuery(plan) ? ['query'] : []),
    ...filtered.map((names) => `${names.many}: await ctx.choices(${names.model})`),
  ]
  const trashArguments = ['ctx', ...parents.slice(-1).map((names) => names.one)].join(', ')
  const formOfNew = [...parentsOfList, one, ...offered]
  const formOfEdit = [...parentsOfItem, one, ...offered]
  const pages = {
    list: `${page(listed.length > 0 || filtered.length > 0, 'index', index)}, `,
    show: `${page(isShownLoaded, 'show', [...parentsOfItem, loaded(one, references), ...linesOf])}, `,
    new: page(offered.length > 0, 'new', formOfNew),
    newAgain: `, { ${page(offered.length > 0, 'new', [...formOfNew, 'errors'])} }`,
    edit: page(offered.length > 0, 'edit', formOfEdit),
    editAgain: `, { ${page(offered.length > 0, 'edit', [...formOfEdit, 'errors'])} }`,
    history: `${page(false, 'history', [...parentsOfItem, one, 'entries', 'pagination'])}, `,
    trash: `${page(false, 'trash', [...parentsOfList, many, 'pagination'])}, `,
    trashAgain: `, { ${page(true, 'trash', [...parentsOfList, `...(await this.findTrash(${trashArguments}))`, 'errors'])} }`,
  }
  return kind === 'web' ? pages : Object.fromEntries(Object.keys(pages).map((name) => [name, '']))
}

/**
 * The columns of each index: of attributes that ask for one, of those that the list is sorted by, of ids that it is filtered by,
 * and of the keys of the parent and the owner.
 *
 * @param leading the keys on which every list has conditions
 * @param last the column by which the records of a parent are sorted
 * @param referred the record to which the first of these keys refers, in words: `a post`
 */
function indexesOf(
  { words: { many } }: Names,
  attributes: readonly Attribute[],
  list: ListPlan | undefined,
  leading: readonly string[],
  last: string,
  referred = '',
) {
  const sorted = sortedColumns(list, attributes)
  const ids = (list?.filters ?? []).filter(({ kind, isUnique }) => kind === 'uuid' && !isUnique)
  const found = [...sorted, ...ids.map(({ name }) => name)]
  const indexed = attributes.filter(({ name, isIndexed }) => isIndexed || found.includes(name))
  const names = new Set([...indexed.map(({ name }) => name), ...sorted])
  return [
    ...[...names].map((name) => ({
      columns: sorted.includes(name) ? [...leading, name, 'id'] : [name],
      name,
      why: sorted.includes(name)
        ? `Sorts the list of ${many} by ${name}, and equal ones by id.`
        : whyIndexed(name),
    })),
    ...(leading.length > 0
      ? [{ columns: [...leading, last], why: `Finds the ${many} of ${referred} in the order of the list.` }]
      : []),
    ...leading.slice(1).map((column) => ({ columns: [column], why: whyIndexed(column) })),
  ]
}

/** Whether the columns of a unique index are those of another index, up to its id. */
function isBeginning(unique: readonly string[], { columns }: { columns: readonly string[] }): boolean {
  return columns.at(-1) === 'id' && columns.slice(0, -1).join() === unique.join()
}

/** The records that a form offers, and the ids of the selected ones: `issue.assignee_id, issue.author_id`. */
type Choice = Names & { selected: string }

/** The records that a form offers as choices, once for each model. */
function choicesOf(
  one: string,
  references: readonly ReferenceAttribute[],
  nested: readonly NestedPlan[] = [],
): Choice[] {
  const all = [...references, ...nested.flatMap(referencesOf)]
  const models = new Map(all.map(({ reference: { model } }) => [model.many, model]))
  return [...models].map(([many, names]) => {
    const own = references.filter(({ reference }) => reference.model.many === many)
    const ofLines = nested.flatMap((list) => selectedOf(one, list, many))
    return { ...names, selected: [...own.map(({ name }) => `${one}.${name}`), ...ofLines].join(', ') }
  })
}

function modelImports(
  { names: { parent }, nested }: ResourcePlan,
  attributes: readonly Attribute[],
  hasKeys: boolean,
  hasPairs: boolean,
) {
  const hasLists = attributes.some(({ isList, file }) => isList && !file)
  const files = [
    attributes.some(({ isList, file }) => file && !isList) && 'HasFile',
    attributes.some(({ isList, file }) => file && isList) && 'HasFiles',
    hasFiles(attributes) && 'type StoredFile',
  ]
  const typeorm = [
    (hasKeys || attributes.some(({ decorator }) => decorator.startsWith('@Column('))) && 'Column',
    attributes.some(({ decorator }) => decorator === '@DeleteDateColumn()') && 'DeleteDateColumn',
    'Entity',
    hasPairs && 'Index',
    hasKeys && 'JoinColumn',
    hasLists && 'JoinTable, ManyToMany',
    hasKeys && 'ManyToOne',
    nested.length > 0 && 'OneToMany',
    (hasKeys || hasLists) && 'type Relation',
    attributes.some(({ decorator }) => decorator === '@VersionColumn()') && 'VersionColumn',
  ]
  const kit = [
    'Model',
    nested.length > 0 && 'Nested',
    attributes.some(({ isRequired }) => isRequired) && 'Present',
    hasLists && 'RelationIds',
    parent && 'Within',
  ]
  return {
    files: files.filter(Boolean).join(', '),
    kit: kit.filter(Boolean).join(', '),
    typeorm: typeorm.filter(Boolean).join(', '),
  }
}

/** The imports of a resource from the framework. */
function kitImports({
  names: { parent, isSingular },
  routes,
  list,
  owner,
  attributes,
  hasHistory,
  hasTrash,
}: ResourcePlan): string {
  const isOnlyOne = isSingular && !owner
  const all = [
    'BaseResource',
    isSingular && 'HttpError',
    parent && 'Parent',
    list && 'Queryable',
    isOnlyOne && 'RecordNotFound',
    'Resource',
    (routes.length > 0 || hasHistory || hasTrash || hasFiles(attributes)) && 'Route',
    isOnlyOne && 'transactionOptions, Use',
    'type Context',
    hasTrash && 'type FindRecordOptions',
  ]
  return all.filter(Boolean).join(', ')
}

/** The relations to accounts that a list can include. Without a list of attributes, clients would see all of them. */
function includesOf(
  { accounts, publicAttributes }: ResourcePlan,
  references: readonly ReferenceAttribute[],
): string[] {
  const shown = publicAttributes.map(quote).join(', ')
  const own = references.filter(({ reference }) => reference.model.model === accounts?.model)
  return own.map(({ reference }) => `${reference.property}: [${shown}]`)
}
