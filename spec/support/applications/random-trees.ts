import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { namesOf, type Names } from '../../../src/generator/arguments/names.js'
import type { Random } from '../random.js'
import { commandOf, nameOf } from './random-resources.js'

/** A reference of a generated resource to another one of its tree. */
interface Reference {
  /** The column, or the list of ids: `customer_id`, `customer_ids`. */
  name: string
  /** `customer`, `customers` */
  property: string
  /** The model that it refers to. */
  target: string
  isList: boolean
  isNullable: boolean
}

/** A resource of a tree: what the walk over the application must know about it. */
export interface TreeResource {
  model: string
  /** The name of a record in XML, and the name of its key. */
  singular: string
  file: string
  path: string
  param: string
  parent: string | undefined
  isOwned: boolean
  /** Whether each of its records belongs to one user, alone or by its parents. */
  isPrivate: boolean
  isSingular: boolean
  isApi: boolean
  /** The attribute with an own value for each record, which is unique in the parent or for the owner. */
  unique: string | undefined
  /** The keys that its list is filtered by. */
  filters: string[]
  isSearched: boolean
  references: Reference[]
  /** The references of its lines; undefined if it has no lines. */
  lines: Reference[] | undefined
  /** The models of its parents, and of theirs. */
  above: string[]
  names: Names
  word: string
  options: ResourceArguments
  command: string
}

/**
 * Makes trees of resources that belong to users: some at the root, all others below a parent, with references between them in
 * every direction that the order of the commands allows.
 */
export class RandomTrees {
  private count = 0

  constructor(
    private readonly random: Random,
    private readonly isApi: boolean,
  ) {}

  /** Makes the resources of one tree, in the order in which they are generated. */
  next(): TreeResource[] {
    const { random } = this
    const made: TreeResource[] = []
    if (random.chance(0.5)) made.push(this.resource(made, undefined, false))
    made.push(this.resource(made, undefined, true))
    if (random.chance(0.4)) made.push(this.resource(made, undefined, true))
    const nested = 3 + random.below(3)
    for (let number = 0; number < nested; number++) {
      const parent = this.parentIn(made)
      made.push(this.resource(made, parent, !parent.isPrivate || random.chance(0.25)))
    }
    if (random.chance(0.4)) made.push(this.resource(made, undefined, true, true))
    return made
  }

  /** Mostly the first private resource, so that there is something to refer to. */
  private parentIn(made: readonly TreeResource[]): TreeResource {
    const [first, ...others] = made.filter(({ isPrivate }) => isPrivate)
    const canBe = made.filter(({ above }) => above.length < 3)
    if (!first) throw new Error('A tree begins with a resource that has an owner.')
    return others.length === 0 || this.random.chance(0.5)
      ? first
      : (canBe[this.random.below(canBe.length)] ?? first)
  }

  private resource(
    made: readonly TreeResource[],
    parent: TreeResource | undefined,
    isOwned: boolean,
    isSingular = false,
  ): TreeResource {
    const { random } = this
    const isPrivate = isOwned || parent?.isPrivate === true
    const isApi = this.isApi || parent?.isApi === true || (parent !== undefined && random.chance(0.15))
    const word = `${isApi && !this.isApi && random.chance(0.5) ? 'api/v1/' : ''}${nameOf(this.count++)}`
    const names = namesOf(word, parent?.names, isSingular)
    const references = isPrivate ? this.references(made, parent, isSingular) : []
    const lines =
      isPrivate && random.chance(0.5)
        ? this.references(made, parent, isSingular).filter(({ isList }) => !isList)
        : undefined
    const unique = isPrivate && !isSingular && random.chance(0.5) ? 'serial' : undefined
    const lists = !isSingular && random.chance(0.7)
    const filters = lists ? references.filter(({ isList }) => !isList).map(({ name }) => name) : []
    const options: ResourceArguments = {
      attributes: ['title', ...(unique ? [`${unique}:string:unique`] : []), ...references.map(wordOf)],
      ...(lists && {
        filter: ['title', ...filters.map((name) => name.replace(/_id$/, ''))].join(','),
        search: 'title',
      }),
      ...(lists && random.chance(0.5) && { sort: '-created_at,title' }),
      nested: lines ? [['line', 'title', ...lines.map(wordOf)].join(' ')] : [],
      parent: parent?.word,
      owner: isOwned ? 'user' : undefined,
      singular: isSingular,
      locking: random.chance(0.2),
      api: isApi,
    }
    return {
      model: names.model,
      singular: names.singular,
      file: names.file,
      path: names.fullPath,
      param: names.param,
      parent: parent?.model,
      isOwned,
      isPrivate,
      isSingular,
      isApi,
      unique,
      filters,
      references,
      lines,
      isSearched: lists,
      above: parent ? [parent.model, ...parent.above] : [],
      names,
      word,
      options,
      command: commandOf(word, options),
    }
  }

  /** References to resources of the same tree, also to a parent and to one above it. */
  private references(
    made: readonly TreeResource[],
    parent: TreeResource | undefined,
    isSingular: boolean,
  ): Reference[] {
    const { random } = this
    const others = made.filter((one) => !one.isSingular)
    return others.flatMap(({ names, model }) => {
      if (random.chance(0.4)) return []
      // The path sets the keys of the parents.
      const isAbove = parent && [parent.model, ...parent.above].includes(model)
      const own = isAbove ? `other_${names.singular}` : names.singular
      const isList = !isSingular && random.chance(0.4)
      const property = isList ? `${own === names.singular ? names.plural : `other_${names.plural}`}` : own
      return {
        name: isList ? `${own}_ids` : `${own}_id`,
        property,
        target: model,
        isList,
        isNullable: isList || random.chance(0.4),
      }
    })
  }
}

/** A reference as an argument of the command. */
function wordOf({ property, target, isList, isNullable }: Reference): string {
  const model = target.replaceAll(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase()
  return isList
    ? `${property}:many:${model}`
    : `${property}:${isNullable ? 'nulls.References' : 'references'}:${model}`
}
