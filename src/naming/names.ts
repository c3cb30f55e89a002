import { camelize, underscore } from 'inflection'
import { memoize } from '../common/memoize.js'
import { itemName } from './words.js'

/** The names that are derived from the last word of a resource's path. */
export interface ResourceNames {
  /** `posts` */
  plural: string
  /** `post` */
  singular: string
  /** `post_id`: the name of the item's parameter. */
  param: string
}

/** The names of a resource's four kinds of paths. */
export interface PathNames {
  /** `postsPath`, or `newsIndexPath` if plural and singular are the same word. */
  collection: string
  /** `postPath` */
  item: string
  /** `newPostsPath` */
  new: string
  /** `editPostPath` */
  edit: string
}

/**
 * Derives the names of a resource: `/admin/planes` ->
 * `{ plural: 'planes', singular: 'plane', param: 'plane_id' }`
 *
 * @param isSingular whether it is a singular resource, whose name has no other form: `/settings`
 */
export function resourceNames(path: string, isSingular = false): ResourceNames {
  const plural = snakeCase(path.split('/').findLast((segment) => segment && !isParameter(segment)) ?? 'root')
  const singular = isSingular ? plural : itemName(plural)
  return { plural, singular, param: `${singular}_id` }
}

/** The id of a collection's name in locale files: `posts`, or `news_index` if both numbers are one word. */
export function collectionId(singular: string, plural: string): string {
  return plural === singular ? `${plural}_index` : plural
}

/**
 * The ids that the name of a collection may have, by the path of its list. The first one that has a
 * translation applies: `/admin/posts/{post_id}/comments` -> `admin.comments`, `comments`.
 */
export const collectionIds = memoize((path): readonly string[] => {
  const { plural, singular } = resourceNames(path)
  return addNamespaces(path, collectionId(singular, plural))
}, 1000)

/** The possible ids of a singular resource's name: `admin.settings`, `settings`, `admin.setting` .... */
export const singularIds = memoize((path): readonly string[] => {
  const { plural, singular } = resourceNames(path)
  return [...new Set([plural, singular])].flatMap((id) => addNamespaces(path, id))
}, 1000)

/** Returns an id with the namespaces of a path, and then with ever fewer: `admin.comments`, `comments`. */
function addNamespaces(path: string, id: string): string[] {
  const segments = path.split('/').filter(Boolean)
  // A parameter, or the collection before it.
  const isItem = (index: number) =>
    isParameter(segments[index] ?? '') || isParameter(segments[index + 1] ?? '')
  const namespace = segments.slice(0, -1).filter((_, index) => !isItem(index))
  return [...namespace, ''].map((_, index) => [...namespace.slice(index).map(snakeCase), id].join('.'))
}

/** `/posts/{post_id}/comments` -> `{ collection: 'postCommentsPath', item: 'postCommentPath', ... }` */
export function pathNames(path: string, isSingular = false): PathNames {
  const { plural, singular } = resourceNames(path, isSingular)
  const prefix = pathWords(path).slice(0, -1)
  const index = plural === singular ? ['index'] : []
  return {
    collection: pathName([...prefix, plural, ...index]),
    item: pathName([...prefix, singular]),
    new: pathName(['new', ...prefix, plural]),
    edit: pathName(['edit', ...prefix, singular]),
  }
}

/** The default name of a route: `/posts/{post_id}/publish` -> `postPublishPath`. */
export function defaultPathName(path: string): string {
  const parts = pathWords(path)
  return pathName(parts.length > 0 ? parts : ['root'])
}

/** The static words of a path. A word before a parameter is singular, because it names an item. */
function pathWords(path: string): string[] {
  const segments = path.split('/').filter(Boolean)
  return segments.flatMap((segment, index) => {
    if (isParameter(segment)) return []
    const next = segments[index + 1]
    return next && isParameter(next) ? itemName(snakeCase(segment)) : snakeCase(segment)
  })
}

function isParameter(segment: string): boolean {
  return segment.includes('{')
}

function snakeCase(segment: string): string {
  return underscore(segment.replaceAll(/[^\p{L}\p{N}]+/gu, '_')).replaceAll(/^_+|_+$/g, '')
}

function pathName(parts: string[]): string {
  return `${camelize(parts.join('_'), true)}Path`
}
