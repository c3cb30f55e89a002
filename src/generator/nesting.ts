import type { Names } from './names.js'

/** How the handlers and templates of a resource come to its records, and how they name their paths. */
export interface Nesting {
  /** The parent, where it is found before an item: one that is nested itself. */
  before: Names[]
  /** The body of the method that finds the parent. */
  parentFinder: string[]
  /** The body of the method that finds an item, its parameters, and what it is called with. */
  itemFinder: string[]
  parameters: string
  arguments: string
  /** The records that name an item in its path, and that its pages are given: `comment`, or `comment, reply`. */
  records: string
  /** What names the collection in the handler that has destroyed an item, and on an item's pages. */
  collection: { handler: string; page: string }
}

/** How a resource is nested: not at all, in a parent, or in a parent that is nested in another one. */
export function nestingOf(names: Names): Nesting {
  const { parent } = names
  if (!parent) return flat(names)
  return parent.parent ? twice(names, parent, parent.parent) : once(names, parent)
}

function flat({ one }: Names): Nesting {
  return {
    before: [],
    parentFinder: [],
    itemFinder: [],
    parameters: 'ctx: Context',
    arguments: 'ctx',
    records: one,
    collection: { handler: '', page: '' },
  }
}

/** One query finds an item: its parent's id is in the path, and in a column of its own. */
function once(names: Names, parent: Names): Nesting {
  const { one, model, param } = names
  const key = `${parent.singular}_id`
  return {
    ...flat(names),
    parentFinder: [`return ctx.find(${parent.model}, ctx.params.${parent.param})`],
    itemFinder: [
      `const { ${parent.param}, ${param} } = ctx.params`,
      `return ctx.findOneBy(${model}, { id: ${param}, ${member(key, parent.param)} })`,
    ],
    collection: { handler: `{ ${parent.param}: ${one}.${key} }`, page: `${one}.${key}` },
  }
}

/** The parent is found first, among those of its own parent: an item knows nothing of that one. */
function twice({ one, model, param }: Names, parent: Names, grandparent: Names): Nesting {
  const key = member(`${grandparent.singular}_id`, grandparent.param)
  return {
    before: [parent],
    parentFinder: [
      `const { ${grandparent.param}, ${parent.param} } = ctx.params`,
      `return ctx.findOneBy(${parent.model}, { id: ${parent.param}, ${key} })`,
    ],
    itemFinder: [
      `return ctx.findOneBy(${model}, { id: ctx.params.${param}, ${parent.singular}_id: ${parent.one}.id })`,
    ],
    parameters: `ctx: Context, ${parent.one}: ${parent.model}`,
    arguments: `ctx, ${parent.one}`,
    records: `${parent.one}, ${one}`,
    collection: { handler: parent.one, page: parent.one },
  }
}

/** `post_id`, or `post_id: blog_post_id` where the two differ. */
function member(key: string, value: string): string {
  return key === value ? key : `${key}: ${value}`
}
