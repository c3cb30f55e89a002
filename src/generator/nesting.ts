import { parentsOf, type Names } from './arguments/names.js'

/** How the handlers and templates of a nested resource find records and name their paths. */
export interface Nesting {
  /** The parents that the handlers find, the outermost first. */
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
  /** The arguments of the collection's path helper in the `destroy` handler, and on the pages of an item. */
  collection: { handler: string; page: string }
}

/** The source of a method that finds a record. */
interface Finder {
  /** `ctx: Context, comment: Comment` */
  parameters: string
  /** `ctx, comment` */
  arguments: string
  body: string[]
}

/** A parent, and the method that finds it. */
type Found = Names & { finder: Finder }

/**
 * Returns how a resource is nested: not at all, in a parent, or in a parent that is itself nested, to any depth.
 *
 * @param isGuarded whether the outermost parent has a policy, so that it is found before each item, too
 * @param owner the model that owns the records
 * @param hasTrash whether an item is also found in the trash
 */
export function nestingOf(names: Names, isGuarded: boolean, owner?: Names, hasTrash = false): Nesting {
  const { parent, isSingular, one } = names
  const ancestors = parentsOf(names).toReversed()
  // An item has no column for its grandparent, so the path helpers need its parents. They do not need the outermost parent,
  // because the next one contains its id.
  const isDeep = ancestors.length > 1
  const inPaths = isDeep ? ancestors.slice(1) : ancestors
  const found = isGuarded ? ancestors : inPaths
  const parents = found.map((each, index) => ({ ...each, finder: finderOf(each, index > 0) }))
  const before = isDeep || isGuarded ? parents : []
  const parentRecords = inPaths.map((each) => each.one).join(', ')
  const key = `${parent?.singular}_id`
  const item = isSingular ? singularFinder(names, owner) : finderOf(names, before.length > 0)
  return {
    parents,
    before,
    item: hasTrash ? alsoTrashed(item) : item,
    where: parent ? `{ ${key}: ${parent.one}.id }` : '{}',
    parentRecords,
    records: isSingular ? '' : isDeep ? `${parentRecords}, ${one}` : one,
    collection:
      parent && !isDeep
        ? { handler: `{ ${parent.param}: ${one}.${key} }`, page: `${one}.${key}` }
        : { handler: parentRecords, page: parentRecords },
  }
}

/** Finds a record by its id in the path, and by the id of its parent, which may have been found already. */
function finderOf({ model, param, parent }: Names, isParentFound: boolean): Finder {
  if (!parent) return finder(`return ctx.find(${model}, ctx.params.${param})`)
  const key = `${parent.singular}_id`
  if (isParentFound) {
    return {
      parameters: `ctx: Context, ${parent.one}: ${parent.model}`,
      arguments: `ctx, ${parent.one}`,
      body: [`return ctx.findOneBy(${model}, { id: ctx.params.${param}, ${key}: ${parent.one}.id })`],
    }
  }
  const condition = key === parent.param ? key : `${key}: ${parent.param}`
  return finder(
    `const { ${parent.param}, ${param} } = ctx.params`,
    `return ctx.findOneBy(${model}, { id: ${param}, ${condition} })`,
  )
}

/** Finds the only record, or that of an owner. */
function singularFinder({ model }: Names, owner: Names | undefined): Finder {
  if (owner) return finder(`return ctx.findOneBy(${model}, { ${owner.singular}_id: userOf(ctx).id })`)
  return finder(
    `const [found] = await ctx.tx.find(${model}, { take: 1 })`,
    `if (!found) throw new RecordNotFound('${model}')`,
    `return ctx.find(${model}, found.id)`,
  )
}

/** Lets a method also find a trashed record: `this.findPost(ctx, { trashed: true })`. */
function alsoTrashed({ parameters, body, ...others }: Finder): Finder {
  return {
    ...others,
    parameters: `${parameters}, options?: FindRecordOptions`,
    body: body.map((line) => line.replace(/\)$/, ', options)')),
  }
}

function finder(...body: string[]): Finder {
  return { parameters: 'ctx: Context', arguments: 'ctx', body }
}
