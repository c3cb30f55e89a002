import { camelize } from 'inflection'
import type { Attribute } from './arguments/attributes.js'
import type { Reference } from './arguments/attribute-argument.js'
import type { Names } from './arguments/names.js'
import type { Nesting } from './arguments/nesting.js'
import type { ResourcePlan } from './resource-generator.js'
import { modelImportsOf, relativePath } from './files/paths.js'

type AttributeReference = Reference & { attribute: Attribute }

/** The part of a plan that names the owners of records. */
type OwnerPlan = Pick<ResourcePlan, 'owner' | 'accounts' | 'guards' | 'ownerOf'>

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
  plan: OwnerPlan,
) {
  const { owner, accounts, ownerOf } = plan
  const { parent } = names
  const file = `spec/actions/${names.file}`
  // A reference to the same model is left out of the spec.
  const others = references.filter((reference) => reference.model.model !== model.model)
  const plain = attributes.filter(({ reference }) => !reference)
  const keys = others.map(({ attribute }) => `${attribute.name}: ${variableOf(attribute)}`)
  const parentKey = parent && `${parent.singular}_id`
  // The list of users contains the one who has signed in.
  const listsOwner = accounts?.model === model.model
  return {
    ...specPaths(file, model),
    models: modelImportsOf([model, ...others.map((other) => other.model), ...nesting.parents], file),
    values: members(plain, ({ samples }) => samples.json),
    changes: members(plain, ({ samples }) => samples.changed),
    form: members(plain, ({ samples }) => samples.form),
    sent: withKeys('values', keys),
    sentForm: withKeys('form', keys),
    newer: newerOf([parentKey, owner && `${owner.singular}_id`]),
    users: usersOf(file, model, plan),
    /** Whether the records that `sent` refers to belong to the owner. */
    hasOwnReferences: others.some((other) => ownerOf(other.model)),
    variables: [
      ...others.map(({ attribute }) => ({
        name: variableOf(attribute),
        type: attribute.isList ? 'string[]' : 'string',
      })),
      { name: 'record', type: model.model },
      ...(listsOwner ? [{ name: 'owner', type: model.model }] : []),
    ],
    /** The records of a list that are older than the record of the spec. */
    older: listsOwner ? ', owner.id' : '',
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
        ? nestedSetup(names, nesting, model, owner, ownerOf)
        : [`record = ${make(model, [], owner)}`]),
    ],
  }
}

/** The support of specs that sign in; undefined if the application has no accounts. */
function usersOf(file: string, model: Names, { owner, accounts, guards, ownerOf }: OwnerPlan) {
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
  return [...made, `record = ${make({ model }, parents.slice(-1), owner)}`, `path = \`${path}\``]
}

/** The keys of a newer record, which has the same parent and owner. */
function newerOf(keys: readonly (string | undefined)[]): string {
  const members = keys.flatMap((key) => (key ? `${key}: record.${key}` : []))
  return members.length > 0 ? `, { ${members.join(', ')} }` : ''
}

/** The source that creates a record of a parent, and of an owner. */
function make({ model }: Pick<Names, 'model'>, parents: readonly Names[], owner: Names | undefined): string {
  const members = [
    ...parents.map((parent) => `${parent.singular}_id: parent${parent.model}.id`),
    ...(owner ? [`${owner.singular}_id: owner.id`] : []),
  ]
  return `await factory.make(${model}${members.length > 0 ? `, { ${members.join(', ')} }` : ''})`
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
