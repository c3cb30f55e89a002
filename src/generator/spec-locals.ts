import { camelize } from 'inflection'
import { itemName } from '../naming/words.js'
import { isReference, type Attribute } from './arguments/attributes.js'
import { specVariable, type Names } from './arguments/names.js'
import { listOf, modelImportsOf, quote, relativePath } from './files/lines.js'
import { defaultSort } from './list-locals.js'
import type { Nesting } from './nesting.js'
import type { ResourcePlan } from './resource-plan.js'

/** The import paths of a spec. */
export function specPaths(file: string, model: Names) {
  return {
    app: relativePath(file, 'spec/support/app'),
    database: relativePath(file, 'src/database'),
    model: relativePath(file, `src/models/${model.singular}`),
  }
}

/** The import paths of the spec of a policy. */
export function policySpecPaths({ model }: ResourcePlan) {
  return { policy: relativePath(`spec/policies/${model.singular}`, `src/policies/${model.singular}`) }
}

/**
 * The variables of a resource's full spec: the description for `describeResource`, and the records that must exist before.
 *
 * @param query the parameters with which the list finds the record
 */
export function specLocals(
  plan: ResourcePlan,
  { parents }: Nesting,
  attributes: readonly Attribute[],
  query: readonly string[],
) {
  const { names, model, owner, home, accounts, ownerOf, hasRoles } = plan
  const file = `spec/actions/${names.file}`
  const described: Described = {
    plan,
    parents,
    attributes,
    query,
    record: specVariable(names),
    keys: [
      ...containersOf(plan, parents).map((one) => `${one.singular}_id: ${specVariable(one)}.id`),
      ...(owner ? [`${owner.singular}_id: owner.id`] : []),
    ],
    referred: referredOf(attributes, plan, parents),
    nested: nestedOf(plan, parents),
    users: usersOf(file, plan),
  }
  const { keys, referred, nested, users } = described
  const description = descriptionOf(described)
  const made = parents.map((it, index) => {
    const around = [parents[index - 1], index > 1 && hasRoles(it) ? parents[0] : undefined]
    return `${specVariable(it)} = ${make(it, around, ownerOf(it))}`
  })
  const hasOwner = [...description, ...made].some((line) => line.includes('owner.id'))
  const ownedBy = hasOwner ? accounts : undefined
  const setup = setupOf(plan, made, hasOwner, keys)
  // Members of a team are made without their model.
  const others = [...referred, ...nested.referred]
    .flatMap(({ models }) => models)
    .filter((one) => !home || one.model !== accounts?.model)
  return {
    ...specPaths(file, model),
    models: modelImportsOf([model, ...parents, ...others, ...(ownedBy ? [ownedBy] : [])], file),
    users,
    variables: [
      ...(ownedBy ? [`owner: ${ownedBy.model}`] : []),
      ...parents.map((it) => `${specVariable(it)}: ${it.model}`),
    ],
    setup,
    isInTeam: setup.some((line) => line.includes('signInFor(')),
    /** The helpers of a team that the spec calls. */
    teamHelpers: [...setup, ...description].some((line) => line.includes('makeMember('))
      ? '{ makeMember } from '
      : '',
    description,
    example: exampleOf(described),
  }
}

/** The parts of the description of a resource. */
interface Described {
  plan: ResourcePlan
  parents: Nesting['parents']
  attributes: readonly Attribute[]
  query: readonly string[]
  record: string
  /** The keys of the parent and the owner. */
  keys: readonly string[]
  referred: ReturnType<typeof referredOf>
  nested: ReturnType<typeof nestedOf>
  users: ReturnType<typeof usersOf>
}

/** The test that shows how to add one's own. It needs an attribute that looks the same in a model and in JSON. */
function exampleOf({ plan: { names, model }, parents, attributes, record, keys }: Described) {
  const text = attributes.find(({ kind, name }) => kind === 'string' && !name.endsWith('email'))
  const shown = text ? [`${text.name}: ${text.samples.json}`] : []
  return {
    record,
    made: `await factory.make(${model.model}${argumentOf([...keys, ...shown])})`,
    path: names.isSingular ? quote(names.fullPath) : `\`${pathOf(names, parents)}/\${${record}.id}\``,
    shown: [`id: ${record}.id`, ...shown].join(', '),
  }
}

/** The lines of the description that `describeResource` gets. */
function descriptionOf(described: Described): string[] {
  const { plan, parents, attributes, query, record, keys, referred, nested, users } = described
  const { names, model } = plan
  return [
    `name: ${quote(names.singular)},`,
    names.parent ? `path: () => \`${pathOf(names, parents)}\`,` : `path: ${quote(names.fullPath)},`,
    `make: (given: Partial<${model.model}>) => factory.make(${model.model}, given),`,
    ...(keys.length > 0 ? [`within: () => ({ ${keys.join(', ')} }),`] : []),
    ...valuesOf(attributes, referred),
    ...requiredOf(attributes),
    ...nested.description,
    ...filesOf(attributes),
    ...(query.length > 0 ? [`query: (${record}) => ({`, ...query.map((one) => `  ${one},`), '}),'] : []),
    ...recordsOf(plan, attributes, record),
    ...optionsOf(plan),
    ...guardOf(plan),
    ...(users?.areApart
      ? [
          `asVisitor: () => signOut(client),`,
          `asOther: async () => signIn(client, await make${users.model}()),`,
        ]
      : []),
  ]
}

/** The records that contain the record: the parent, and the team whose roles decide. */
function containersOf({ names, team }: ResourcePlan, parents: Nesting['parents']): Names[] {
  const root = parents.filter(({ model }) => model === team?.names.model)
  return [
    ...new Map([...(names.parent ? [names.parent] : []), ...root].map((one) => [one.model, one])).values(),
  ]
}

/**
 * The lines that create the parents and sign a user in: in a team, somebody whom the policy allows to delete the record. The user is
 * a variable if something belongs to this user.
 */
function setupOf(
  { home, team, model, accounts, guards }: ResourcePlan,
  made: readonly string[],
  hasOwner: boolean,
  keys: readonly string[],
): string[] {
  if (!accounts) return [...made]
  const [guard] = guards
  if (home && guard && !hasOwner) {
    const record = team ? `factory.build(${model.model}${argumentOf(keys)})` : specVariable(guard)
    return [...made, `await signInFor(client, '${team ? 'destroy' : 'update'}', ${record})`]
  }
  const user = home
    ? `await makeMember(${specVariable(home.names)}, '${home.roles[0]}')`
    : `await make${accounts.model}()`
  const signingIn = hasOwner
    ? [`owner = ${user}`, 'await signIn(client, owner)']
    : [`await signIn(client, ${user})`]
  const [first = '', ...others] = made
  return home ? [first, ...signingIn, ...others] : [...signingIn, ...made]
}

/** The values that the spec sends. Records to which they refer are created first. */
function valuesOf(attributes: readonly Attribute[], referred: readonly Referred[]): string[] {
  const plain = attributes.filter(({ reference, file }) => !reference && !file)
  const samples = (sample: 'json' | 'changed') =>
    plain.map(({ name, samples }) => `${name}: ${samples[sample]}`)
  const changes = `changes: ${object(samples('changed'))},`
  if (referred.length === 0) return [`values: ${object(samples('json'))},`, changes]
  const ids = referred.map(({ attribute, id }) => `${attribute.name}: ${attribute.isList ? `[${id}]` : id}`)
  return [
    'values: async () => {',
    ...[...new Set(referred.flatMap(({ before }) => before))].map((line) => `  ${line}`),
    ...referred.map(({ id, source }) => `  const { id: ${id} } = ${source}`),
    `  return ${object([...samples('json'), ...ids])}`,
    '},',
    changes,
  ]
}

/** The media types of the attributes with files. */
function filesOf(attributes: readonly Attribute[]): string[] {
  const types = attributes.flatMap(({ name, file, isList }) => {
    const type = quote(file === 'image' ? 'image/png' : 'text/plain')
    return file ? [`${name}: ${isList ? `[${type}]` : type}`] : []
  })
  return types.length > 0 ? [`files: ${object(types)},`] : []
}

function requiredOf(attributes: readonly Attribute[], indent = 4): string[] {
  const names = attributes.filter(({ isRequired }) => isRequired).map(({ name }) => quote(name))
  return names.length > 0 ? [listOf(indent, 'required', names)] : []
}

/** The lists of lines, and the references of the lines. */
function nestedOf(plan: ResourcePlan, parents: Nesting['parents']) {
  const lists = plan.nested.map((list) => {
    const attributes = list.attributes.filter(({ isSecret }) => !isSecret)
    const referred = referredOf(attributes, plan, parents)
    // Two lines of a list cannot have the same unique value.
    const unique = list.uniques.flat()
    const isOnlyOne = attributes.some(({ name, values }) => values.length === 1 && unique.includes(name))
    const lines = [
      ...valuesOf(attributes, referred),
      ...requiredOf(attributes, 8),
      ...(isOnlyOne ? ['onlyOne: true,'] : []),
    ]
    return { referred, lines: [`  ${list.name}: {`, ...lines.map((line) => `    ${line}`), '  },'] }
  })
  return {
    referred: lists.flatMap(({ referred }) => referred),
    description: lists.length > 0 ? ['nested: {', ...lists.flatMap(({ lines }) => lines), '},'] : [],
  }
}

/** The values of two records, as far as a list or a unique column needs different ones, and their order in the list. */
function recordsOf(plan: ResourcePlan, attributes: readonly Attribute[], record: string): string[] {
  const { names, owner, team, list } = plan
  const given = attributes.filter(
    (attribute) => !attribute.reference && !attribute.file && isGiven(attribute, plan),
  )
  const sorted = given.find(({ name }) => name === defaultSort(list))
  // The changed value is the greater one, unless it is a boolean.
  const order = sorted?.kind === 'bool' ? `newer, ${record}` : `${record}, newer`
  const keys = [names.parent, owner, team?.names].flatMap((one) => (one ? `${one.singular}_id` : []))
  const isOnlyOne = uniquesOf(attributes, plan).some((columns) =>
    columns.every((name) => isConstant(name, attributes, keys)),
  )
  const values = (sample: 'json' | 'changed') => object(given.map((one) => modelValue(one, sample)))
  return [
    ...(given.length > 0 ? [`record: ${values('changed')},`, `newer: ${values('json')},`] : []),
    ...(sorted && !names.isSingular ? [`listed: (${record}, newer) => [${order}],`] : []),
    ...(isOnlyOne && !names.isSingular ? ['onlyOne: true,'] : []),
  ]
}

/** The record about which a policy with roles decides. */
function guardOf({ home, owner, team, guards: [guard] }: ResourcePlan): string[] {
  if (team) return ['guard: true,']
  return home && guard && !owner ? [`guard: () => ${specVariable(guard)},`] : []
}

function optionsOf({
  kind,
  application,
  names,
  hasVersion,
  hasHistory,
  hasTrash,
  routes,
  many,
}: ResourcePlan): string[] {
  const words = routes.map(({ word, method, on }) =>
    quote([word, method.toLowerCase(), ...(on === 'collection' ? [on] : [])].join(':')),
  )
  return [
    ...(names.isSingular ? ['singular: true,'] : []),
    ...(kind === 'api' && application === 'web' ? ['pages: false,'] : []),
    ...(hasVersion ? ['locking: true,'] : []),
    ...(hasHistory ? ['history: true,'] : []),
    ...(hasTrash ? ['trash: true,'] : []),
    ...(words.length > 0 ? [listOf(4, 'routes', words)] : []),
    ...(many.csv ? [listOf(4, 'csv', many.csv.map(quote))] : []),
    ...(many.import ? [`import: ${many.import === true ? 'true' : quote(many.import)},`] : []),
    ...(many.bulk.length > 0 ? [listOf(4, 'bulk', many.bulk.map(quote))] : []),
  ]
}

/** A reference, and how the record that it contains is created. */
type Referred = Made & { attribute: Attribute; /** The variable with the id. */ id: string }

/** The references, except to the same model. */
function referredOf(
  attributes: readonly Attribute[],
  plan: ResourcePlan,
  parents: Nesting['parents'],
): Referred[] {
  return attributes
    .filter(isReference)
    .filter(({ reference }) => reference.model.model !== plan.model.model)
    .map((attribute) => {
      const { property, model } = attribute.reference
      const own = `${itemName(property)}_id`
      const isTaken = attributes.some(({ name }) => attribute.isList && name === own)
      const id = camelize(isTaken ? `${property}_id` : own, true)
      const { models, ...made } = makeInside(model, plan, parents)
      return { attribute, id, models: [model, ...models], ...made }
    })
}

/** The support of specs that sign in; undefined if the application has no accounts. */
function usersOf(file: string, { model, owner, home, accounts, guards, ownerOf }: ResourcePlan) {
  if (!accounts) return undefined
  const support = `spec/support/${accounts.plural}`
  /** Whether others get a 404 for the records. */
  const areApart = owner !== undefined || home !== undefined || guards.some((one) => ownerOf(one))
  return {
    model: accounts.model,
    areApart,
    functions: [`make${accounts.model}`, 'signIn', ...(areApart ? ['signOut'] : [])].join(', '),
    path: relativePath(file, support),
    members: home && relativePath(file, `spec/support/${home.names.plural}`),
    fromModel: relativePath(`spec/models/${model.singular}`, support),
  }
}

/** The path of a nested collection. A parent without a variable is created with the next one, which contains its id. */
function pathOf({ fullPath }: Names, parents: Nesting['parents']): string {
  return parents.reduce((path, names) => {
    const { param, parent } = names
    const own = path.replace(`{${param}}`, `\${${specVariable(names)}.id}`)
    return parent ? own.replace(`{${parent.param}}`, `\${${specVariable(names)}.${parent.singular}_id}`) : own
  }, fullPath)
}

/** The source that creates a record, which belongs to a parent and an owner if there are any. */
function make(
  { model }: Names,
  containers: readonly (Names | undefined)[],
  owner: Names | undefined,
  values: readonly string[] = [],
): string {
  const members = [
    ...containers.flatMap((one) => (one ? `${one.singular}_id: ${specVariable(one)}.id` : [])),
    ...(owner ? [`${owner.singular}_id: owner.id`] : []),
    ...values,
  ]
  return `await factory.make(${model}${argumentOf(members)})`
}

/** The source that creates a record for a spec, and the models that it needs beside that of the record. */
interface Made {
  source: string
  models: Names[]
  /** The lines that create the records that contain it. */
  before: string[]
  /** Whether it belongs to a parent or the owner of the spec's record. */
  isBound: boolean
}

/** Creates a record to which that of the spec refers: in the same parents, as far as it is in them, and for the same owner. */
function makeInside(model: Names, plan: ResourcePlan, parents: Nesting['parents']): Made {
  if (plan.home && model.model === plan.accounts?.model) {
    const source = `await makeMember(${specVariable(plan.home.names)})`
    return { source, models: [], before: [], isBound: true }
  }
  const containers = plan.enclosuresOf(model).flatMap((container) => {
    const { source, isBound, ...rest } = idOf(container, plan, parents)
    return isBound ? [{ key: `${container.singular}_id: ${source}`, ...rest }] : []
  })
  const owner = plan.ownerOf(model)
  const keys = [...containers.map(({ key }) => key), ...(owner ? [`${owner.singular}_id: owner.id`] : [])]
  return {
    source: make(model, [], undefined, keys),
    models: containers.flatMap(({ models }) => models),
    before: containers.flatMap(({ before }) => before),
    isBound: keys.length > 0,
  }
}

/** The id of a parent, or of another record of the same parent or owner. */
function idOf(container: Names, plan: ResourcePlan, parents: Nesting['parents']): Made {
  const parent = parents.find(({ model }) => model === container.model)
  const given = { models: [], before: [], isBound: true }
  if (parent) return { source: `${specVariable(parent)}.id`, ...given }
  // The outermost parent has no variable, because the next one contains its id.
  const next = parents.find((one) => one.parent?.model === container.model)
  if (next) return { source: `${specVariable(next)}.${container.singular}_id`, ...given }
  const { source, isBound, ...rest } = makeInside(container, plan, parents)
  const variable = specVariable(container)
  return {
    source: `${variable}.id`,
    models: [container, ...rest.models],
    before: [...rest.before, `const ${variable} = ${source}`],
    isBound,
  }
}

/** Source of the second argument of `factory.make`; empty without members. */
function argumentOf(members: readonly string[]): string {
  return members.length > 0 ? `, { ${members.join(', ')} }` : ''
}

/** The columns of each unique index. */
function uniquesOf(attributes: readonly Attribute[], { uniques }: ResourcePlan) {
  return [...attributes.filter(({ isUnique }) => isUnique).map(({ name }) => [name]), ...uniques]
}

/**
 * Whether a spec gives its records values of an attribute: the list is sorted by it, or it is unique with few values, of which
 * the factory could choose one that the spec sends. The first record has the changed sample, and all others the first one.
 */
function isGiven(attribute: Attribute, plan: ResourcePlan): boolean {
  const { name, kind, isNullable, samples } = attribute
  const hasFew = (kind === 'enum' || kind === 'bool') && !isNullable
  const isFew = hasFew && uniquesOf([attribute], plan).flat().includes(name)
  return samples.json !== samples.changed && (name === defaultSort(plan.list) || isFew)
}

/** Whether a column has the same value in all records of a spec. A column that can be null is null at first. */
function isConstant(name: string, attributes: readonly Attribute[], keys: readonly string[]): boolean {
  const one = attributes.find((attribute) => attribute.name === name)
  return one ? one.kind === 'enum' && !one.isNullable && one.values.length === 1 : keys.includes(name)
}

/** The source of an attribute and a sample as a model has it. */
function modelValue({ name, kind, samples }: Attribute, sample: 'json' | 'changed'): string {
  return `${name}: ${kind === 'datetime' ? `new Date(${samples[sample]})` : samples[sample]}`
}

function object(members: readonly string[]): string {
  return members.length > 0 ? `{ ${members.join(', ')} }` : '{}'
}
