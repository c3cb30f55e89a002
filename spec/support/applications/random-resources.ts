import { parseAttributes, type Attribute } from '../../../src/generator/arguments/attributes.js'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { collectionName } from '../../../src/naming/words.js'
import type { Random } from '../random.js'

/** A resource to generate with a full spec. */
export interface RandomResource {
  name: string
  /** The name of its model. */
  model: string
  options: ResourceArguments
  /** The same as a command, for the message of a failure. */
  command: string
  isSingular: boolean
  /** The number of its parents. */
  depth: number
  /** Whether it is below the team. */
  isInTeam: boolean
  /** Whether only few of its records can exist at once, because a unique column has few values. */
  isScarce: boolean
}

const NOUNS =
  'gauge menu harbor letter planet recipe ticket violin forest garden lantern river story wheel city'.split(
    ' ',
  )
const ADJECTIVES = 'amber brisk calm dark early faint gentle hollow icy jolly keen loyal mild narrow'.split(
  ' ',
)
const TYPES =
  'string string text int bigint float decimal bool date time datetime uuid json enum enum references many'.split(
    ' ',
  )
const DIGITS = ['', '', ':12,4', ':12,0', ':3,1', ':9,9', ':1,0', ':1,1']
const VALUES = ['draft', 'public', 'on hold', 'archived_by_the_last_editor']
const NAMES =
  'title body rank price day note state code size place due_on is_open color weight confirmation_address'.split(
    ' ',
  )
const SECRETS = ['api_token', 'password_digest', 'reset_token']
const LISTS = ['line', 'entry', 'step']
const ITEM_ROUTES = ['publish:post', 'approve:put', 'archive:delete', 'preview:get']
const COLLECTION_ROUTES = ['drafts:get:collection', 'import:post:collection', 'sweep:delete:collection']

/**
 * Makes the resources of an application, in the order in which they are generated. The same seed makes the same resources.
 *
 * @param hasUsers whether the application has accounts with the `user` model
 * @param team the name of its team; undefined if it has none
 */
export class RandomResources {
  private readonly made: RandomResource[] = []

  constructor(
    private readonly random: Random,
    private readonly hasUsers: boolean,
    private readonly team?: string,
  ) {}

  /** Makes a number of resources. */
  take(count: number): RandomResource[] {
    return Array.from({ length: count }, () => this.next())
  }

  private next(): RandomResource {
    const { random, made, hasUsers, team } = this
    const isSingular = random.chance(0.15)
    const parent = isSingular || random.chance(0.6) ? undefined : this.pick(made.filter(canBeParent))
    const canJoin = team !== undefined && !isSingular && parent?.isInTeam !== false
    const owner = canJoin && random.chance(0.5) ? team : hasUsers && random.chance(0.4) ? 'user' : undefined
    const isInTeam = (team !== undefined && owner === team) || parent?.isInTeam === true
    const isApi = parent?.options.api === true || random.chance(0.2)
    const model = nameOf(made.length)
    const name = isApi && random.chance(0.5) ? `api/v1/${model}` : model
    const words = this.attributes(model, isInTeam)
    const attributes = parseAttributes(words)
    const keys = [parent && `${parent.model}_id`, owner && `${owner}_id`].filter((key) => key !== undefined)
    const uniques = this.uniques(attributes, keys)
    const options: ResourceArguments = {
      attributes: words,
      route: this.some(isSingular ? ITEM_ROUTES : [...ITEM_ROUTES, ...COLLECTION_ROUTES], 2),
      unique: uniques.map((columns) => columns.join(',')),
      nested: random.chance(0.4) ? this.nested(model, isInTeam) : [],
      ...(!isSingular && random.chance(0.5) && this.list(attributes)),
      parent: parent?.name,
      owner,
      singular: isSingular,
      locking: random.chance(0.3),
      trash: !isSingular && random.chance(0.3),
      spec: 'full',
      api: isApi,
    }
    const onePerOwner = isSingular && owner ? [['user_id']] : []
    const isScarce =
      parent?.isScarce === true ||
      isAnyScarce(attributes, [...uniques, ...onePerOwner], owner && `${owner}_id`)
    const depth = parent ? parent.depth + 1 : owner === team && isInTeam ? 1 : 0
    const resource = {
      name,
      model,
      options,
      command: commandOf(name, options),
      isSingular,
      depth,
      isInTeam,
      isScarce,
    }
    made.push(resource)
    return resource
  }

  private attributes(model: string, isInTeam: boolean): string[] {
    const { random } = this
    const names = this.some(NAMES, 6)
    const words = names.map((name) => this.attribute(name, model, isInTeam))
    const secret = random.chance(0.15)
      ? [`${this.pick(SECRETS)}${random.chance(0.5) ? ':string:shown' : ''}`]
      : []
    return [...words, ...secret]
  }

  /** Lists of lines, which refer to no record that they are a part of. Their enums have values without spaces. */
  private nested(model: string, isInTeam: boolean): string[] {
    return this.some(LISTS, 2, 1).map((list) => {
      const words = this.some(NAMES, 4, 1).map((name) => this.attribute(name, model, isInTeam))
      const possible = words.filter((word) => !/:many:|:on hold/.test(word) && !isReferenceTo(word, model))
      const own = possible.map((word) => word.replace(',on hold', ''))
      return [list, ...(own.length > 0 ? own : ['amount:int'])].join(' ')
    })
  }

  private attribute(name: string, model: string, isInTeam: boolean): string {
    const { random } = this
    const type = this.pick(TYPES) ?? 'string'
    if (type === 'references' || type === 'many') return this.reference(name, type, model, isInTeam)
    const nulls = random.chance(0.3) ? 'nulls.' : ''
    const canHaveIndex = type !== 'text' && type !== 'json'
    const index = canHaveIndex && random.chance(0.4) ? (random.chance(0.75) ? ':unique' : ':index') : ''
    const values = type === 'enum' ? `:${VALUES.slice(0, 1 + random.below(VALUES.length)).join(',')}` : ''
    const digits = type === 'decimal' ? this.pick(DIGITS) : ''
    return `${name}:${nulls}${type}${values}${digits}${index}`
  }

  /** A reference to an earlier resource, to a user, or to the same resource. Nobody outside of a team finds its records. */
  private reference(name: string, type: string, model: string, isInTeam: boolean): string {
    const { random, made } = this
    const others = made.filter((one) => !one.isScarce && (isInTeam || !one.isInTeam)).map((one) => one.model)
    const other = this.pick([...others, model, ...(this.hasUsers ? ['user'] : [])])
    if (type === 'many') return `${collectionName(name)}:many:${other}`
    const nulls = other === model || random.chance(0.3) ? 'nulls.' : ''
    const index = random.chance(0.2) ? ':unique' : ''
    return `${name}:${nulls}references:${other}${index}`
  }

  /** Columns that are unique together. */
  private uniques(attributes: readonly Attribute[], keys: readonly string[]): string[][] {
    const columns = attributes.filter(({ kind, isList }) => !isList && kind !== 'text' && kind !== 'json')
    const names = [...columns.map(({ name }) => name), ...keys]
    if (names.length < 2 || this.random.chance(0.7)) return []
    const [first = '', second = '', third] = this.some(names, names.length, 2)
    return [third && this.random.chance(0.3) ? [first, second, third] : [first, second]]
  }

  /** The queries that clients may send to the list. */
  private list(attributes: readonly Attribute[]): ResourceArguments {
    const shown = attributes.filter(({ isSecret, isList, kind }) => !isSecret && !isList && kind !== 'json')
    const texts = shown.filter(({ kind }) => kind === 'string' || kind === 'text').map(({ name }) => name)
    const names = [...shown.map(({ name }) => name), 'created_at', 'updated_at']
    const minus = this.random.chance(0.6) ? '-' : ''
    const sorts = this.some(names, 3).join(',')
    return {
      filter: this.some(names, 4).join(',') || undefined,
      sort: sorts && `${minus}${sorts}`,
      search: this.some(texts, 2).join(',') || undefined,
    }
  }

  /** From `least` to `most` of the items, in a random order. */
  private some(items: readonly string[], most: number, least = 0): string[] {
    const rest = [...items]
    const count = least + this.random.below(Math.min(most, items.length) - least + 1)
    return Array.from({ length: count }, () => rest.splice(this.random.below(rest.length), 1)).flat()
  }

  private pick<T>(items: readonly T[]): T | undefined {
    return items[this.random.below(items.length)]
  }
}

/** A different name for each number: `gauge`, ..., `amber_gauge`, ... */
export function nameOf(index: number): string {
  const adjective = ADJECTIVES[Math.floor(index / NOUNS.length) - 1]
  return [adjective, NOUNS[index % NOUNS.length]].filter(Boolean).join('_')
}

function isReferenceTo(word: string, model: string): boolean {
  return /references:(\w+)/i.exec(word)?.[1] === model
}

function canBeParent({ isSingular, depth }: RandomResource): boolean {
  return !isSingular && depth < 2
}

/** Whether one of the unique indexes has no column in which many records can differ. */
function isAnyScarce(
  attributes: readonly Attribute[],
  uniques: readonly (readonly string[])[],
  owner: string | undefined,
): boolean {
  const sets = [...attributes.filter(({ isUnique }) => isUnique).map(({ name }) => [name]), ...uniques]
  const hasFew = ({ kind, digits, isNullable }: Attribute) =>
    !isNullable && (kind === 'enum' || kind === 'bool' || digits?.precision === 1)
  const scarce = [...attributes.filter(hasFew).map(({ name }) => name), ...(owner ? [owner] : [])]
  return sets.some((columns) => columns.every((name) => scarce.includes(name)))
}

/** The command that generates a resource. */
export function commandOf(name: string, options: ResourceArguments): string {
  const {
    attributes = [],
    route: routes = [],
    unique: uniques = [],
    nested = [],
    filter,
    sort,
    search,
    parent,
    owner,
  } = options
  const words = [
    name,
    ...attributes.map((word) => (word.includes(' ') ? `'${word}'` : word)),
    ...routes.map((route) => `--route ${route}`),
    ...uniques.map((columns) => `--unique ${columns}`),
    ...nested.map((list) => `--nested '${list}'`),
    ...Object.entries({ filter, sort, search, parent, owner }).flatMap(([option, value]) =>
      value ? `--${option}=${value}` : [],
    ),
    ...(options.singular ? ['--singular'] : []),
    ...(options.locking ? ['--locking'] : []),
    ...(options.trash ? ['--trash'] : []),
    ...(options.api ? ['--api'] : []),
    ...(options.spec ? [`--spec ${options.spec}`] : []),
  ]
  return `kit generate resource ${words.join(' ')}`
}
