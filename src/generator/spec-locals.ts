import { camelize } from 'inflection'
import type { Attribute } from './arguments/attributes.js'
import type { Reference } from './arguments/attribute-argument.js'
import type { Names } from './arguments/names.js'
import { defaultSort } from './list-locals.js'
import type { Nesting } from './arguments/nesting.js'
import type { ResourcePlan } from './resource-generator.js'
import { modelImportsOf, relativePath } from './files/paths.js'

/** A relation with its attribute. */
export type AttributeReference = Reference & { attribute: Attribute }

/** The part of a plan that decides which records can exist, and in which order a list has them. */
type SpecPlan = Pick<ResourcePlan, 'owner' | 'accounts' | 'guards' | 'ownerOf' | 'uniques' | 'list'>

/** The import paths of a spec. */
export function specPaths(file: string, model: Names) {
  return {
    app: relativePath(file, 'spec/support/app'),
    database: relativePath(file, 'src/database'),
    model: relativePath(file, `src/models/${model.singular}`),
  }
}

/** The variables of a resource's full spec: the values to send, and the records that must exist before. */
export function specLocals(
  names: Names,
  nesting: Nesting,
  model: Names,
  references: readonly AttributeReference[],
  attributes: readonly Attribute[],
  plan: SpecPlan,
) {
  const { owner, accounts, ownerOf } = plan
  const { parent } = names
  const file = `spec/actions/${names.file}`
  // A reference to the same model is left out of the spec.
  const others = references.filter((reference) => reference.model.model !== model.model)
  const plain = attributes.filter(({ reference }) => !reference)
  const keys = others.map(({ attribute }) => `${attribute.name}: ${variableOf(attribute)}`)
  // The list of users contains the one who has signed in.
  const listsOwner = accounts?.model === model.model
  const belongsTo = [parent, owner].flatMap((one) => (one ? `${one.singular}_id` : []))
  const given = plain.filter((attribute) => isGiven(attribute, plan))
  const uniques = uniquesOf(attributes, plan)
  const isOnlyOne = uniques.some((columns) =>
    columns.every((name) => isConstant(name, attributes, belongsTo)),
  )
  // The changed sample of the first record is greater than that of the newer one.
  const isFirst = given.some(({ name, kind }) => name === defaultSort(plan.list) && kind !== 'bool')
  const first = given.map((attribute) => `${attribute.name}: ${modelValue(attribute, 'changed')}`)
  const listed = isOnlyOne ? ['record.id'] : isFirst ? ['record.id', 'newer.id'] : ['newer.id', 'record.id']
  return {
    ...specPaths(file, model),
    models: modelImportsOf([model, ...others.map((other) => other.model), ...nesting.parents], file),
    values: members(plain, ({ samples }) => samples.json),
    changes: members(plain, ({ samples }) => samples.changed),
    form: members(plain, ({ samples }) => samples.form),
    sent: withKeys('values', keys),
    sentForm: withKeys('form', keys),
    newer: argumentOf([
      ...belongsTo.map((key) => `${key}: record.${key}`),
      ...given.map((attribute) => `${attribute.name}: ${modelValue(attribute, 'json')}`),
    ]),
    /** Whether no other record can exist beside the first one, unless it has another parent or owner. */
    isOnlyOne,
    /** The ids of the records in the order of the list. */
    listed: `[${[...listed, ...(listsOwner ? ['owner.id'] : [])].join(', ')}]`,
    users: usersOf(file, model, plan),
    /** Whether another user can send the same: the records that `sent` refers to have no owner, and there can be a second record. */
    othersCanCreate:
      !others.some((other) => ownerOf(other.model)) &&
      !uniques.some((columns) => columns.every((name) => isConstant(name, attributes, []))),
    variables: [
      ...others.map(({ attribute }) => ({
        name: variableOf(attribute),
        type: attribute.isList ? 'string[]' : 'string',
      })),
      { name: 'record', type: model.model },
      ...(listsOwner ? [{ name: 'owner', type: model.model }] : []),
    ],
    setup: [
      ...(accounts
        ? [
            `${listsOwner ? '' : 'const '}owner = await make${accounts.model}()`,
            'await signIn(client, owner)',
          ]
        : []),
      ...others.map(({ attribute, model }) => {
        const id = `(${make(model, [], ownerOf(model))}).id`
        return `${variableOf(attribute)} = ${attribute.isList ? `[${id}]` : id}`
      }),
      ...(parent
        ? nestedSetup(names, nesting, model, owner, ownerOf, first)
        : [`record = ${make(model, [], owner, first)}`]),
    ],
  }
}

/** The support of specs that sign in; undefined if the application has no accounts. */
function usersOf(file: string, model: Names, { owner, accounts, guards, ownerOf }: SpecPlan) {
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

/** Creates a record, its parents and the path of its collection. The outermost parent is created with the next one. */
function nestedSetup(
  { fullPath }: Names,
  { parents }: Nesting,
  { model }: Names,
  owner: Names | undefined,
  ownerOf: ResourcePlan['ownerOf'],
  values: readonly string[],
): string[] {
  const [first] = parents
  const root = first?.parent
  const path = parents.reduce(
    (whole, { param, model }) => whole.replace(`{${param}}`, `\${parent${model}.id}`),
    root ? fullPath.replace(`{${root.param}}`, `\${parent${first.model}.${root.singular}_id}`) : fullPath,
  )
  const made = parents.map(
    (one, index) =>
      `const parent${one.model} = ${make(one, parents.slice(0, index).slice(-1), ownerOf(one))}`,
  )
  return [...made, `record = ${make({ model }, parents.slice(-1), owner, values)}`, `path = \`${path}\``]
}

/** Source of the second argument of `factory.make`; empty without members. */
function argumentOf(members: readonly string[]): string {
  return members.length > 0 ? `, { ${members.join(', ')} }` : ''
}

/** The source that creates a record of a parent, and of an owner. */
function make(
  { model }: Pick<Names, 'model'>,
  parents: readonly Names[],
  owner: Names | undefined,
  values: readonly string[] = [],
): string {
  const members = [
    ...parents.map((parent) => `${parent.singular}_id: parent${parent.model}.id`),
    ...(owner ? [`${owner.singular}_id: owner.id`] : []),
    ...values,
  ]
  return `await factory.make(${model}${argumentOf(members)})`
}

/** The columns of each unique index. */
function uniquesOf(attributes: readonly Attribute[], { uniques }: Pick<ResourcePlan, 'uniques'>) {
  return [...attributes.filter(({ isUnique }) => isUnique).map(({ name }) => [name]), ...uniques]
}

/**
 * Whether a spec gives its records values of an attribute: the list is sorted by it, or it is unique with few values, of which
 * the factory could choose one that the spec sends. The first record has the changed sample, and all others the first one.
 */
function isGiven(attribute: Attribute, plan: SpecPlan): boolean {
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

/** The source of a sample as a model has it. */
function modelValue({ kind, samples }: Attribute, sample: 'json' | 'changed'): string {
  return kind === 'datetime' ? `new Date(${samples[sample]})` : samples[sample]
}

function members(attributes: readonly Attribute[], valueOf: (attribute: Attribute) => string): string {
  if (attributes.length === 0) return '{}'
  const lines = attributes.map((attribute) => `    ${attribute.name}: ${valueOf(attribute)},`)
  return ['{', ...lines, '  }'].join('\n')
}

/** `assigneeId` of `assignee_id`, or `labelIds` of `label_ids` */
function variableOf({ name }: Attribute): string {
  return camelize(name, true)
}

function withKeys(name: string, keys: readonly string[]): string {
  return keys.length > 0 ? `{ ...${name}, ${keys.join(', ')} }` : name
}
