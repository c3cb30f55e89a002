import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { BadAttribute, CommandError, ParentNotRegistered } from '../command-errors.js'
import { isTitle, parseAttributes, type Attribute } from './arguments/attributes.js'
import { recordedResource, type ResourceArguments } from './arguments/command-line.js'
import { migrationIn } from './migration-names.js'
import { modelNamesOf, namesOf, type Names } from './arguments/names.js'
import { applicationName, isRegistered } from './files/registration.js'
import { nearest } from '../naming/spelling.js'
import { itemName } from '../naming/words.js'

/**
 * Returns the text of src/app.ts.
 *
 * @throws CommandError when the file does not exist, or creates no application
 */
export function readApplication(folder: string): string {
  const text = textOf(folder, 'src/app.ts')
  if (text === undefined) {
    throw new CommandError(
      `There is no src/app.ts in ${folder}, where resources are registered. Create it with: export const app = new App()`,
    )
  }
  if (applicationName(text) !== undefined) return text
  throw new CommandError('src/app.ts does not create an application. Add to it: export const app = new App()')
}

/** Returns the names of an existing resource and of its parents. */
export function existingNames(folder: string, word: string): Names {
  const singular = isSingular(folder, word)
  const parent = parentOf(folder, namesOf(word, undefined, singular))
  return namesOf(word, parent === undefined ? undefined : existingNames(folder, parent), singular)
}

/**
 * The arguments of the command that has generated the handlers or the migration of a text. The functions below ask it first,
 * because the code may have another form now. Files that were written by hand have no command.
 */
function argumentsIn(text: string): ResourceArguments {
  try {
    return recordedResource(text)?.options ?? {}
  } catch {
    // A command that was changed by hand may not be valid.
    return {}
  }
}

/** Whether the file that a word names contains a singular resource: `src/actions/profile.ts`. */
function isSingular(folder: string, word: string): boolean {
  const handlers = handlersIn(folder, namesOf(word, undefined, true))
  return argumentsIn(handlers).singular || /^@Resource\([^)]*\bsingular: true\b/m.test(handlers)
}

/** Returns the parent of a resource as a word of the command line; undefined without a parent. */
function parentOf(folder: string, names: Names): string | undefined {
  const { file } = names
  const text = handlersIn(folder, names)
  const recorded = argumentsIn(text).parent
  if (recorded !== undefined) return recorded
  const parent = /^@Parent\((\w+)\)/m.exec(text)?.[1]
  const from = parent && new RegExp(`import \\{ ${parent} \\} from ['"](.+)\\.js['"]`).exec(text)?.[1]
  return from ? posix.join(posix.dirname(file), from) : undefined
}

/** The model that owns the records of another model, also according to the policy: `post.user_id === user?.id`. */
export function ownerOfModel(folder: string, { singular, plural }: Names): Names | undefined {
  const recorded = argumentsIn(migrationIn(folder, `create_${plural}`)).owner
  const owner =
    recorded ?? /\.(\w+)_id === \w+\?\.id/.exec(textOf(folder, `src/policies/${singular}.ts`) ?? '')?.[1]
  // A team has members, whose roles decide.
  if (owner === undefined || teamOf(folder)?.names.model === modelNamesOf(owner).model) return undefined
  return modelNamesOf(owner)
}

/** Whether the policy of a model asks for the roles of a team. */
export function hasRoles(folder: string, { singular }: Names): boolean {
  return / extends RolePolicy\b/.test(textOf(folder, `src/policies/${singular}.ts`) ?? '')
}

/** The models that contain the records of another model, according to its `@Within`. */
export function enclosuresOfModel(folder: string, { singular }: Names): Names[] {
  const [, relations = ''] =
    /^@Within\(([^)]*)\)/m.exec(textOf(folder, `src/models/${singular}.ts`) ?? '') ?? []
  const models = modelFiles(folder)
  return [...relations.matchAll(/\w+/g)]
    .map(([name]) => modelNamesOf(name))
    .filter((one) => models.includes(one.singular))
}

/**
 * The keys of the parents and of the owner of the records in a table, according to the model and its policy. Without them, an
 * index would tell which values others have. Empty if each owner has only one record.
 */
export function keysOfTable(folder: string, table: string): string[] {
  const names = modelNamesOf(itemName(table))
  const text = textOf(folder, `src/models/${names.singular}.ts`) ?? ''
  const parents = enclosuresOfModel(folder, names).map(({ singular }) => `${singular}_id`)
  const owner = ownerOfModel(folder, names)
  if (!owner) return parents
  const key = `${owner.singular}_id`
  const isOnlyOne = parents.length === 0 && text.includes(`['${key}'], { unique: true }`)
  return isOnlyOne ? [] : [...parents, key]
}

/** Whether the handlers of a resource have a policy, generated or written by hand. */
export function hasPolicy(folder: string, names: Names): boolean {
  const handlers = handlersIn(folder, names)
  return argumentsIn(handlers).owner !== undefined || /^@Resource\([^)]*\bpolicy:/m.test(handlers)
}

/** The model of the users who sign in: `authenticate(database, User)`; undefined if the application has no accounts. */
export function accountsOf(folder: string): Names | undefined {
  const model = /\bauthenticate\(\s*database,\s*(\w+)/.exec(
    textOf(folder, 'src/authentication.ts') ?? '',
  )?.[1]
  return model === undefined ? undefined : modelNamesOf(model)
}

/** The team of an application, whose members have roles. */
export interface Team {
  names: Names
  /** The roles, the highest first. */
  roles: string[]
  /** The lowest role that creates and changes records. */
  write: string
}

/** The team of an application: `teamMembers(database, { team: Branch })`; undefined if there is none. */
export function teamOf(folder: string): Team | undefined {
  const files = existsSync(join(folder, 'src')) ? readdirSync(join(folder, 'src')) : []
  for (const file of files) {
    const text = file.endsWith('.ts') ? textOf(folder, `src/${file}`) : undefined
    const model = /\bteamMembers\(database, \{\s*team: (\w+)/.exec(text ?? '')?.[1]
    if (text === undefined || model === undefined) continue
    const roles = [...(/\broles = \[([^\]]*)\]/.exec(text)?.[1] ?? '').matchAll(/\w+/g)].map(([role]) => role)
    const write = /^\/\/ kit generate team .*--write (\w+)/m.exec(text)?.[1]
    return { names: namesOf(model), roles, write: roles.find((role) => role === write) ?? roles.at(-1) ?? '' }
  }
  return undefined
}

/** The attributes of accounts that other users may see: the id, and the name if they have one. */
export function publicAttributesOf(folder: string, { singular }: Names): string[] {
  const hasName = /^ +name[?!]?\s*:/m.test(textOf(folder, `src/models/${singular}.ts`) ?? '')
  return hasName ? ['id', 'name'] : ['id']
}

/** The first required text of a model, which is the heading of its page; undefined if there is none. */
export function titleOf(folder: string, { singular, plural }: Names): string | undefined {
  const model = textOf(folder, `src/models/${singular}.ts`) ?? ''
  const { attributes = [] } = argumentsIn(migrationIn(folder, `create_${plural}`))
  const title = parseAttributes(attributes).find(isTitle)?.name
  if (title !== undefined && new RegExp(`^ +${title}!?:`, 'm').test(model)) return title
  const declared = /^ +@Column\('varchar'.*\)\n +@Present\(\)\n +(\w+)!: string$/m
  return declared.exec(model)?.[1]
}

/** The text of a resource's handlers; empty if there are none. */
export function handlersIn(folder: string, { file }: Names): string {
  return textOf(folder, `src/actions/${file}.ts`) ?? ''
}

/** @throws CommandError when a resource cannot be nested in the parent */
export function requireParent(folder: string, parent: Names): void {
  const isThere = existsSync(join(folder, `src/actions/${parent.file}.ts`))
  if (!isThere || !isRegistered(readApplication(folder), parent.resource)) {
    throw new ParentNotRegistered(parent.resource, [...parent.namespace, parent.singular].join('/'))
  }
  requireModel(folder, parent)
  if (parent.isSingular) {
    throw new CommandError(
      `${parent.resource} is a singular resource. Generate the resource without --parent, and nest it by hand.`,
    )
  }
}

/**
 * @param alias an attribute that refers to a model of another name, for the message
 * @throws CommandError when the model does not exist
 */
export function requireModel(folder: string, { model, singular }: Names, alias?: string): void {
  const models = modelFiles(folder)
  if (models.includes(singular)) return
  const near = nearest(singular, models)
  throw new CommandError(
    `There is no model ${model} in src/models/${singular}.ts. ` +
      (near ? `Did you mean "${near}"? Otherwise, generate` : 'Generate') +
      ` it first: kit generate resource ${singular}.` +
      (alias ? ` If the model has another name, write it after the type: ${alias}.` : ''),
  )
}

/** The names of the files in src/models, without `.ts`. */
export function modelFiles(folder: string): string[] {
  const models = join(folder, 'src/models')
  if (!existsSync(models)) return []
  return readdirSync(models).flatMap((file) => /^(.+)\.ts$/.exec(file)?.[1] ?? [])
}

/** The relation with the name of another model, as an example: `assignee:references:user`. */
function aliasOf({ reference, isList, isNullable }: Attribute): string | undefined {
  if (!reference || reference.isNamed) return undefined
  const type = isList ? 'many' : isNullable ? 'nulls.references' : 'references'
  return `${reference.property}:${type}:user`
}

/**
 * Checks that the model of a reference exists, unless it is the model of the table itself.
 *
 * @param table the table that gets the column
 * @throws CommandError when the model does not exist, when the first row would need another row to refer to, or when the table
 *   of a many-to-many relation would have two columns of the same name
 */
export function requireReference(folder: string, table: string, attribute: Attribute): void {
  const { reference, isNullable, isList, name } = attribute
  if (reference === undefined) return
  const { model, property } = reference
  if (model.plural !== table) return requireModel(folder, model, aliasOf(attribute))
  if (isList && name !== `${itemName(table)}_ids`) return
  if (isList) {
    const problem = `its table would have two columns ${itemName(table)}_id. Use another name, like related_${property}:many:${model.singular}`
    throw new BadAttribute(`${property}:many`, problem)
  }
  if (isNullable) return
  const alias = property === model.singular ? '' : `:${model.singular}`
  const problem = `the first ${model.words.one} could not be created, because it would need another one. Use ${property}:nulls.references${alias}`
  throw new BadAttribute(`${property}:references${alias}`, problem)
}

/**
 * Checks that an existing model has the properties that the handlers and pages use. A model that extends another class than
 * `Model` is not checked, because it may inherit them.
 *
 * @throws CommandError when the model does not exist, or lacks a property
 */
export function requireProperties(
  folder: string,
  model: Names,
  attributes: readonly Attribute[],
  parent: Names | undefined,
): void {
  requireModel(folder, model)
  const file = `src/models/${model.singular}.ts`
  const text = textOf(folder, file) ?? ''
  if (!/ extends Model\b/.test(text)) return
  const own = attributes.flatMap(({ name, reference }) => [name, reference?.property ?? name])
  for (const property of parent ? [...own, `${parent.singular}_id`] : own) {
    if (!new RegExp(`^ +(?:\\w+ )*${property}[?!]?\\s*[:=]`, 'm').test(text)) {
      throw new CommandError(
        `The model ${model.model} has no ${property}. Add it to ${file} with a migration, or leave it out.`,
      )
    }
  }
}

/** The text of a file of the application; undefined if there is none. */
export function textOf(folder: string, path: string): string | undefined {
  const file = join(folder, path)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}
