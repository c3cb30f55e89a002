import { camelize } from 'inflection'
import { CommandError } from '../../command-errors.js'
import { collectionId, pathNames, resourceNames, type PathNames } from '../../naming/names.js'
import { collectionName, itemName, wordsOf, type Words } from '../../naming/words.js'
import { reservedInXml, reservedResources, specNames, templateNames } from './reserved.js'

/** All names that are derived from the word for a resource on the command line. */
export interface Names {
  /** The resource in which it is nested. */
  parent: Names | undefined
  /** `['admin']` of `admin/widget` */
  namespace: string[]
  /** Whether it is a singular resource: `/profile`, without a list and an id. */
  isSingular: boolean
  /** `blog_post`: the model's file, the record in XML and in translation ids. */
  singular: string
  /** `blog_posts`: the table. */
  plural: string
  /** `BlogPost` */
  model: string
  /** `AdminBlogPostsResource` */
  resource: string
  /** `admin/blog_posts`: the path of its handlers, templates and locale file. */
  file: string
  /** `/blog_posts`: the argument of `@Resource`. With a parent, it is relative to the parent's item. */
  path: string
  /** `/posts/{post_id}/comments`: the whole path. */
  fullPath: string
  /** `blog_post_id` */
  param: string
  /** `blogPostsPath`, `blogPostPath`, ... */
  paths: PathNames
  /** `blogPost`, or `labelRecord` if templates have a helper or variable of that name. */
  one: string
  /** `blogPosts`, or `newsList` if plural and singular are the same word. */
  many: string
  /** The ids of its names in locale files: `admin.blog_post` and `admin.blog_posts`. */
  ids: { one: string; many: string }
  /** The names for people. */
  words: Words
}

/**
 * Returns all names of a resource for one word: `post`, `posts`, `BlogPost`, `blog-posts` or `admin/widget`.
 *
 * @param parent the names of the resource in which it is nested
 * @param isSingular whether the resource is singular: its path and files then have the word as it is given
 * @throws CommandError for a word that cannot be the name
 */
export function namesOf(word: string, parent?: Names, isSingular = false): Names {
  return computeNames(word, 'resource', parent, isSingular)
}

/**
 * Returns the names of a model that an argument of the command line refers to: `--use-model Post`, `author:references`.
 *
 * @throws CommandError for a word that cannot be the name
 */
export function modelNamesOf(word: string): Names {
  return computeNames(word, 'model')
}

function computeNames(word: string, kind: 'resource' | 'model', parent?: Names, isSingular = false): Names {
  const parts = word.split('/').map(snakeCase)
  if (!parts.every(isName)) {
    throw new CommandError(
      `"${word}" isn't a valid name. Use words of letters and digits, at most 50 characters: post, blog_post, BlogPost or admin/widget.`,
    )
  }
  const namespace = parts.slice(0, -1)
  const last = parts.at(-1) ?? ''
  const plural = tableOf(last)
  const base = isSingular ? last : plural
  if (!isSingular) rejectAmbiguous(word, kind, itemName(last))
  const file = [...namespace, base].join('/')
  const path = `/${withoutParents(namespace, parent).concat(base).join('/')}`
  const fullPath = `${parent ? `${parent.fullPath}/{${parent.param}}` : ''}${path}`
  const { singular, param } = resourceNames(fullPath)
  const variables = [last, singular, plural].map((name) => camelize(name, true))
  const [reason] = variables.flatMap((name) => reservedResources.get(name) ?? reservedInXml(name) ?? [])
  if (reason) {
    throw new CommandError(`A ${kind} cannot be named "${word}", because ${reason}. Choose another name.`)
  }
  if (parentsOf({ parent }).some((one) => one.param === param)) {
    throw new CommandError(
      `"${word}" cannot be nested there: the path would contain {${param}} twice. Choose another name.`,
    )
  }
  const one = camelize(singular, true)
  const many = camelize(plural, true)
  return {
    parent,
    namespace,
    isSingular,
    singular,
    plural,
    model: camelize(singular),
    resource: `${[...namespace, base].map((part) => camelize(part)).join('')}Resource`,
    file,
    path,
    fullPath,
    param,
    paths: pathNames(fullPath, isSingular),
    one: templateNames.has(one) ? `${one}Record` : one,
    many: one === many || templateNames.has(many) ? `${one}List` : many,
    ids: {
      one: [...namespace, singular].join('.'),
      many: [...namespace, collectionId(singular, plural)].join('.'),
    },
    words: wordsOf(singular, plural),
  }
}

/**
 * Rejects a word that its plural would change, because the names of a resource are derived from its plural.
 *
 * @throws CommandError
 */
function rejectAmbiguous(word: string, kind: string, singular: string): void {
  const plural = collectionName(singular)
  const other = itemName(plural)
  if (other === singular) return
  throw new CommandError(
    `A ${kind} cannot be named "${word}", because its plural would be "${plural}", which is the plural of "${other}". Choose another name.`,
  )
}

/** The variable of a record in specs: `post`, or `pageRecord` if specs have a variable of that name. */
export function specVariable({ one }: Names): string {
  return specNames.has(one) ? `${one}Record` : one
}

/**
 * Returns the name of a job or a migration: `SendDigest` -> `send_digest`.
 *
 * @throws CommandError for a word that cannot be the name
 */
export function nameOf(kind: 'job' | 'migration', word: string, examples: string): string {
  const name = snakeCase(word)
  if (isName(name)) return name
  throw new CommandError(
    `"${word}" isn't a valid name for a ${kind}. Use words of letters and digits, at most 50 characters, like ${examples}.`,
  )
}

/** Whether a name has the form `blog_post`, and is short enough for the names of databases, which have at most 63 characters. */
export function isName(text: string): boolean {
  return /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(text) && text.length <= 50
}

/** The table in the name of a migration: `posts` in `add_state_to_post`. */
export function tableOf(word: string): string {
  return collectionName(itemName(word))
}

/** `BlogPost`, `blog-post` and `blogPost` -> `blog_post` */
export function snakeCase(word: string): string {
  return word
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase()
}

/** The parents of a resource, the nearest first. */
export function parentsOf({ parent }: Pick<Names, 'parent'>): Names[] {
  return parent ? [parent, ...parentsOf(parent)] : []
}

/** `admin/part` in `admin/widget` has the path `/parts` below `/admin/widgets/{widget_id}`. */
function withoutParents(namespace: string[], parent: Names | undefined): string[] {
  const shared = parent?.namespace ?? []
  return shared.every((part, index) => namespace[index] === part) ? namespace.slice(shared.length) : namespace
}
