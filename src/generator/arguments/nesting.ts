import type { Names } from './names.js'

/** How the handlers and templates of a nested resource find records and name their paths. */
export interface Nesting {
  /** The parents that the handlers find, the outermost first, with the methods that find them. */
  parents: Found[]
  /** The parents that are found before an item. */
  before: Found[]
  /** The method that finds an item. */
  item: Finder
  /** The conditions of the collection: `{ post_id: post.id }`. */
  where: string
  /** The arguments of the path helpers of the collection, which its pages receive: `post`, or `comment, reply`. */
  parentRecords: string
  /** The arguments of the path helpers of an item, which its pages receive: `comment`, or `comment, reply`. */
  records: string
  /** The arguments of the collection's path helper in the handler `destroy`, and on the pages of an item. */
  collection: { handler: string; page: string }
}

/** The source of a method that finds a record. */
export interface Finder {
  /** `ctx: Context, comment: Comment` */
  parameters: string
  /** `ctx, comment` */
  arguments: string
  body: string[]
}

/** A parent, and the method that finds it. */
type Found = Names & { finder: Finder }

/**
 * Returns how a resource is nested: not at all, in a parent, or in a parent that is itself nested, to any depth. A singular
 * resource isn't nested.
 *
 * @param isGuarded whether the outermost parent has a policy
 * @param owner the model that owns the records
 */
export function nestingOf(names: Names, isGuarded = false, owner?: Names): Nesting {
  const { parent, isSingular } = names
  if (isSingular) return owner ? owned(names, owner) : only(names)
  if (!parent) return flat(names)
  if (parent.parent) return deep(names, parent, parent.parent, isGuarded)
  return isGuarded ? guarded(names, parent) : once(names, parent)
}

function flat(names: Names): Nesting {
  return {
    parents: [],
    before: [],
    item: byId(names),
    where: '{}',
    parentRecords: '',
    records: names.one,
    collection: { handler: '', page: '' },
  }
}

/** A singular resource has one record, whose path has no id. */
function only(names: Names): Nesting {
  const { one, model } = names
  const item = finder(
    `const [${one}] = await ctx.tx.find(${model}, { take: 1 })`,
    `if (!${one}) throw new RecordNotFound('${model}')`,
    `return ${one}`,
  )
  return { ...flat(names), item, records: '' }
}

/** Each owner has one record, whose path has no id. */
function owned(names: Names, owner: Names): Nesting {
  const item = finder(`return ctx.findOneBy(${names.model}, { ${owner.singular}_id: userOf(ctx).id })`)
  return { ...flat(names), item, records: '' }
}

/** A single query finds an item, by its id and by its parent's id, which is a column of the item. */
function once(names: Names, parent: Names): Nesting {
  const key = `${parent.singular}_id`
  return {
    ...flat(names),
    parents: [{ ...parent, finder: byId(parent) }],
    item: byPath(names, parent),
    where: `{ ${key}: ${parent.one}.id }`,
    parentRecords: parent.one,
    collection: { handler: `{ ${parent.param}: ${names.one}.${key} }`, page: `${names.one}.${key}` },
  }
}

/** The parent is found before each item, because its policy protects the items, too. */
function guarded(names: Names, parent: Names): Nesting {
  const nesting = once(names, parent)
  return { ...nesting, before: nesting.parents, item: among(names, parent) }
}

/** Each record is found by its parent's id, beginning with the outermost one, because an item has no column for its grandparent. */
function deep(names: Names, parent: Names, grandparent: Names, isGuarded: boolean): Nesting {
  const parents = chainOf(parent, grandparent, isGuarded)
  // The outermost parent has no place in paths, because the next one has its id.
  const parentRecords = (isGuarded ? parents.slice(1) : parents).map(({ one }) => one).join(', ')
  return {
    parents,
    before: parents,
    item: among(names, parent),
    where: `{ ${parent.singular}_id: ${parent.one}.id }`,
    parentRecords,
    records: `${parentRecords}, ${names.one}`,
    collection: { handler: parentRecords, page: parentRecords },
  }
}

/**
 * The parents that are found: all except the outermost one, whose id is in the path and in a column of the next one. If it has
 * a policy, it is found, too.
 */
function chainOf(names: Names, parent: Names, isGuarded: boolean): Found[] {
  const own = { ...names, finder: among(names, parent) }
  if (parent.parent) return [...chainOf(parent, parent.parent, isGuarded), own]
  return isGuarded
    ? [{ ...parent, finder: byId(parent) }, own]
    : [{ ...names, finder: byPath(names, parent) }]
}

function byId({ model, param }: Names): Finder {
  return finder(`return ctx.find(${model}, ctx.params.${param})`)
}

/** Finds a record by its own id and its parent's id, both from the path. */
function byPath({ model, param }: Names, parent: Names): Finder {
  const key = member(`${parent.singular}_id`, parent.param)
  return finder(
    `const { ${parent.param}, ${param} } = ctx.params`,
    `return ctx.findOneBy(${model}, { id: ${param}, ${key} })`,
  )
}

/** Finds a record by its id and the id of a parent that has already been found. */
function among({ model, param }: Names, parent: Names): Finder {
  return {
    parameters: `ctx: Context, ${parent.one}: ${parent.model}`,
    arguments: `ctx, ${parent.one}`,
    body: [
      `return ctx.findOneBy(${model}, { id: ctx.params.${param}, ${parent.singular}_id: ${parent.one}.id })`,
    ],
  }
}

function finder(...body: string[]): Finder {
  return { parameters: 'ctx: Context', arguments: 'ctx', body }
}

/** `post_id`, or `post_id: blog_post_id` if the two differ. */
function member(key: string, value: string): string {
  return key === value ? key : `${key}: ${value}`
}
