import { camelize } from 'inflection'
import { isReference, type Attribute } from './arguments/attributes.js'
import { specVariable, type Names } from './arguments/names.js'
import { defaultSort } from './list-locals.js'
import type { Nesting } from './nesting.js'
import type { ResourcePlan } from './resource-plan.js'
import { modelImportsOf, relativePath } from './files/lines.js'

/** The import paths of a spec. */
export function specPaths(file: string, model: Names) {
  return {
    app: relativePath(file, 'spec/support/app'),
    database: relativePath(file, 'src/database'),
    model: relativePath(file, `src/models/${model.singular}`),
  }
}

/** The variables of a resource's full spec: the values to send, and the records that must exist before. */
export function specLocals(plan: ResourcePlan, { parents }: Nesting, attributes: readonly Attribute[]) {
  const { names, model, owner, accounts, ownerOf, list } = plan
  const file = `spec/actions/${names.file}`
  const record = specVariable(names)
  const { item, collection } = names.paths
  const referred = referredOf(attributes, plan, parents)
  const others = referred.map(({ attribute }) => attribute)
  const referredModels = referred.flatMap(({ attribute, models }) => [attribute.reference.model, ...models])
  const plain = attributes.filter(({ reference, file }) => !reference && !file)
  const files = attributes.filter(({ file }) => file)
  const requiredFiles = files.filter(({ isRequired }) => isRequired).map((one) => `${one.name}: ${sampleOf(one)}`)
  const keys = others.map((attribute) => `${attribute.name}: ${variableOf(attribute)}`)
  // The list of users contains the one who has signed in.
  const listsOwner = accounts?.model === model.model
  const belongsTo = [names.parent, owner].flatMap((one) => (one ? `${one.singular}_id` : []))
  const given = plain.filter((attribute) => isGiven(attribute, plan))
  const uniques = uniquesOf(attributes, plan)
  const isOnlyOne = uniques.some((columns) =>
    columns.every((name) => isConstant(name, attributes, belongsTo)),
  )
  // The changed sample of the first record is greater than that of the newer one.
  const isFirst = given.some(({ name, kind }) => name === defaultSort(list) && kind !== 'bool')
  const ids = [isOnlyOne ? [] : 'newer.id', `${record}.id`].flat()
  const first = given.map((attribute) => modelValue(attribute, 'changed'))
  return {
    ...specPaths(file, model),
    models: modelImportsOf([model, ...referredModels, ...parents], file),
    /** The variables of the record, of its path, and of the path of the list. */
    record,
    item,
    list: collection,
    ...bodiesOf(plain, keys, requiredFiles),
    files: filesLocals(files),
    newer: argumentOf([
      ...belongsTo.map((key) => `${key}: ${record}.${key}`),
      ...given.map((attribute) => modelValue(attribute, 'json')),
    ]),
    /** Whether no other record can exist beside the first one, unless it has another parent or owner. */
    isOnlyOne,
    /** The ids of the records in the order of the list. */
    listed: `[${[...(isFirst ? ids.toReversed() : ids), ...(listsOwner ? ['owner.id'] : [])].join(', ')}]`,
    users: usersOf(file, plan),
    /** Whether another user can send the same: the records that `sent` refers to belong to nobody, and there can be a second record. */
    othersCanCreate:
      requiredFiles.length === 0 &&
      !referred.some(({ isBound }) => isBound) &&
      !uniques.some((columns) => columns.every((name) => isConstant(name, attributes, []))),
    variables: [
      ...others.map((one) => ({ name: variableOf(one), type: one.isList ? 'string[]' : 'string' })),
      { name: record, type: model.model },
      ...(listsOwner ? [{ name: 'owner', type: model.model }] : []),
    ],
    setup: [
      ...(accounts ? [`${listsOwner ? '' : 'const '}owner = await make${accounts.model}()`] : []),
      ...(accounts ? ['await signIn(client, owner)'] : []),
      ...parents.map((it, i) => `const ${specVariable(it)} = ${make(it, parents[i - 1], ownerOf(it))}`),
      ...new Set(referred.flatMap(({ before }) => before)),
      ...referred.map(({ attribute, source }) => assignId(attribute, source)),
      `${record} = ${make(model, parents.at(-1), owner, first)}`,
      ...(names.parent ? [`${collection} = \`${pathOf(names, parents)}\``] : []),
    ],
  }
}

/** The references, except to the same model, and how the records that they contain are created. */
function referredOf(attributes: readonly Attribute[], plan: ResourcePlan, parents: Nesting['parents']) {
  return attributes
    .filter(isReference)
    .filter(({ reference }) => reference.model.model !== plan.model.model)
    .map((attribute) => ({ attribute, ...makeInside(attribute.reference.model, plan, parents) }))
}

/** The bodies that a spec sends: JSON and forms. */
function bodiesOf(plain: readonly Attribute[], keys: readonly string[], files: readonly string[]) {
  const sent = keys.length > 0 ? object(['...values', ...keys]) : 'values'
  const sentForm = fieldsOf(plain, 'values', [], [...keys, ...files])
  return {
    /** The body that creates a record: JSON, or a form with the files that it needs. */
    created: files.length > 0 ? `form: ${sentForm}` : `json: ${sent}`,
    createdFrom: files.length > 0 ? 'a form with files, and returns it as JSON' : 'JSON',
    needsFiles: files.length > 0,
    values: members(plain, 'json'),
    changes: members(plain, 'changed'),
    sent,
    sentForm,
    changedForm: fieldsOf(plain, 'changes', ["_method: 'PUT'"]),
    staleForm: fieldsOf(plain, 'changes', ["_method: 'PUT'"], ["lock_version: '0'"]),
  }
}

/** The specs of the attributes with files: what is sent, and of which type another file is. */
function filesLocals(files: readonly Attribute[]) {
  return files.map((attribute) => ({
    name: attribute.name,
    isList: attribute.isList,
    isRequired: attribute.isRequired,
    isImage: attribute.file === 'image',
    sample: sampleOf(attribute),
  }))
}

function sampleOf({ file }: Attribute): string {
  return file === 'image' ? 'sampleFile()' : "sampleFile('text/plain')"
}

/** The source that assigns the id of a record to the variable of a reference. */
function assignId(attribute: Attribute, source: string): string {
  const id = `(${source}).id`
  return `${variableOf(attribute)} = ${attribute.isList ? `[${id}]` : id}`
}

/** The support of specs that sign in; undefined if the application has no accounts. */
function usersOf(file: string, { model, owner, accounts, guards, ownerOf }: ResourcePlan) {
  if (!accounts) return undefined
  const support = `spec/support/${accounts.plural}`
  return {
    model: accounts.model,
    path: relativePath(file, support),
    fromModel: relativePath(`spec/models/${model.singular}`, support),
    /** Whether others get a 404 for the records. */
    areApart: owner !== undefined || guards.some((one) => ownerOf(one)),
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
  parent: Names | undefined,
  owner: Names | undefined,
  values: readonly string[] = [],
): string {
  const members = [
    ...(parent ? [`${parent.singular}_id: ${specVariable(parent)}.id`] : []),
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
  const containers = plan.enclosuresOf(model).flatMap((container) => {
    const { source, isBound, ...rest } = idOf(container, plan, parents)
    return isBound ? [{ key: `${container.singular}_id: ${source}`, ...rest }] : []
  })
  const owner = plan.ownerOf(model)
  const keys = [...containers.map(({ key }) => key), ...(owner ? [`${owner.singular}_id: owner.id`] : [])]
  return {
    source: make(model, undefined, undefined, keys),
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

function members(attributes: readonly Attribute[], sample: keyof Attribute['samples']): string {
  return object(attributes.map(({ name, samples }) => `${name}: ${samples[sample]}`))
}

/** The source of the fields of a form with the values of a variable. A field contains JSON as text. */
function fieldsOf(
  attributes: readonly Attribute[],
  values: string,
  before: readonly string[],
  after: readonly string[] = [],
): string {
  const json = attributes.filter(({ kind }) => kind === 'json')
  const texts = json.map(({ name }) => `${name}: JSON.stringify(${values}.${name})`)
  const all = [...before, `...${values}`, ...texts, ...after]
  return all.length > 1 ? object(all) : values
}

function object(members: readonly string[]): string {
  return members.length > 0 ? `{ ${members.join(', ')} }` : '{}'
}

/** `assigneeId` of `assignee_id`, or `labelIds` of `label_ids` */
function variableOf({ name }: Attribute): string {
  return camelize(name, true)
}
