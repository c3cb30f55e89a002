import { camelize } from 'inflection'
import type { Attribute } from './arguments/attributes.js'
import type { Reference } from './arguments/attribute-words.js'
import { itemName } from '../words/words.js'
import type { Names } from './arguments/names.js'
import type { Nesting } from './arguments/nesting.js'
import { modelImportsOf, relativePath } from './files/paths.js'

type AttributeReference = Reference & { attribute: Attribute }

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
  { owner, parentOwner }: { owner?: Names | undefined; parentOwner?: Names | undefined } = {},
) {
  const { parent } = names
  const user = owner ?? parentOwner
  const file = `spec/actions/${names.file}`
  // A reference to the same model is left out of the spec.
  const others = references.filter((reference) => reference.model.model !== model.model)
  const plain = attributes.filter(({ reference }) => !reference)
  const keys = others.map(({ property, attribute }) =>
    attribute.isList ? `${attribute.name}: [${idOf(property)}]` : `${attribute.name}: ${idOf(property)}`,
  )
  const parentKey = parent && `${parent.singular}_id`
  return {
    ...specPaths(file, model),
    models: modelImportsOf([model, ...others.map((other) => other.model), ...nesting.parents], file),
    values: members(plain, ({ samples }) => samples.json),
    changes: members(plain, ({ samples }) => samples.changed),
    form: members(plain, ({ samples }) => samples.form),
    sent: withKeys('values', keys),
    sentForm: withKeys('form', keys),
    newer: newerOf(owner ? `${owner.singular}_id` : parentKey),
    /** The support of specs that sign in. */
    users: user && {
      model: user.model,
      path: relativePath(file, `spec/support/${user.plural}`),
      fromModel: relativePath(`spec/models/${model.singular}`, `spec/support/${user.plural}`),
    },
    variables: [
      ...others.map(({ property }) => ({ name: idOf(property), type: 'string' })),
      { name: 'record', type: model.model },
    ],
    setup: [
      ...others.map((other) => `${idOf(other.property)} = (await factory.make(${other.model.model})).id`),
      ...(user ? [`const owner = await make${user.model}()`, 'await signIn(client, owner)'] : []),
      ...(parent
        ? nestedSetup(names, nesting, model, parentOwner)
        : [
            `record = await factory.make(${model.model}${owner ? `, { ${owner.singular}_id: owner.id }` : ''})`,
          ]),
    ],
  }
}

/** Creates a record, its parents and the path of its collection. The outermost parent is created with the next one. */
function nestedSetup(
  { fullPath }: Names,
  { parents }: Nesting,
  { model }: Names,
  owner: Names | undefined,
): string[] {
  const [first] = parents
  const root = first?.parent
  const path = parents.reduce(
    (whole, { param, model }) => whole.replace(`{${param}}`, `\${parent${model}.id}`),
    root ? fullPath.replace(`{${root.param}}`, `\${parent${first.model}.${root.singular}_id}`) : fullPath,
  )
  const made = parents.map(
    (names, index) =>
      `const parent${names.model} = ${make(names, parents[index - 1], index === 0 ? owner : undefined)}`,
  )
  return [...made, `record = ${make({ model }, parents.at(-1))}`, `path = \`${path}\``]
}

function newerOf(key: string | undefined): string {
  return key ? `, { ${key}: record.${key} }` : ''
}

function make({ model }: Pick<Names, 'model'>, parent: Names | undefined, owner?: Names): string {
  if (owner) return `await factory.make(${model}, { ${owner.singular}_id: owner.id })`
  return parent
    ? `await factory.make(${model}, { ${parent.singular}_id: parent${parent.model}.id })`
    : `await factory.make(${model})`
}

function members(attributes: readonly Attribute[], valueOf: (attribute: Attribute) => string): string {
  if (attributes.length === 0) return '{}'
  const lines = attributes.map((attribute) => `    ${attribute.name}: ${valueOf(attribute)},`)
  return ['{', ...lines, '  }'].join('\n')
}

/** `assigneeId`, or `labelId` of `labels` */
function idOf(property: string): string {
  return `${camelize(itemName(property), true)}Id`
}

function withKeys(name: string, keys: readonly string[]): string {
  return keys.length > 0 ? `{ ...${name}, ${keys.join(', ')} }` : name
}
