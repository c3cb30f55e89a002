import { camelize, humanize as humanizeWord, pluralize, singularize, underscore } from 'inflection'
import { memoize } from './memoize.js'

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
 * `/admin/planes` -> `{ plural: 'planes', singular: 'plane', param: 'plane_id' }`
 *
 * @param isSingular whether it is a singular resource, whose name has no other form: `/settings`
 */
export function resourceNames(path: string, isSingular = false): ResourceNames {
  const plural = snakeCase(staticSegments(path).at(-1) ?? 'root')
  const singular = isSingular ? plural : itemName(plural)
  return { plural, singular, param: `${singular}_id` }
}

/** The id of a collection's name in locale files: `posts`, or `news_index` if plural and singular are the same word. */
export function collectionId(singular: string, plural: string): string {
  return plural === singular ? `${plural}_index` : plural
}

/**
 * The ids that the name of a collection may have, by the path of its list. The first one that has a translation applies:
 * `/admin/posts/{post_id}/comments` -> `admin.comments`, `comments`.
 */
export const collectionIds = memoize((path): readonly string[] => {
  const { plural, singular } = resourceNames(path)
  return inNamespaces(path, collectionId(singular, plural))
}, 1000)

/** The ids that the name of a singular resource may have: `/admin/profile` -> `admin.profile`, `profile`. */
export const singularIds = memoize(
  (path): readonly string[] => inNamespaces(path, resourceNames(path, true).singular),
  1000,
)

function inNamespaces(path: string, id: string): string[] {
  const segments = path.split('/').filter(Boolean)
  const isItem = (index: number) =>
    isParameter(segments[index] ?? '') || isParameter(segments[index + 1] ?? '')
  const namespace = segments.slice(0, -1).filter((_, index) => !isItem(index))
  return [...namespace, ''].map((_, index) => [...namespace.slice(index).map(snakeCase), id].join('.'))
}

/** `/posts/{post_id}/comments` -> `{ collection: 'postCommentsPath', item: 'postCommentPath', ... }` */
export function pathNames(path: string, isSingular = false): PathNames {
  const { plural, singular } = resourceNames(path, isSingular)
  const prefix = words(path).slice(0, -1)
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
  const all = words(path)
  return pathName(all.length > 0 ? all : ['root'])
}

/** The name of a class's records in XML and in locale ids: `BlogPost` -> `blog_post`. */
export const recordName = memoize((className) => underscore(className), 1000)

/** `blog_post` -> `blog_posts` */
export function collectionName(name: string): string {
  return pluralize(name)
}

/** `blog_posts` -> `blog_post` */
export function itemName(name: string): string {
  const [, prefix = '', last = name] = /^(.*_)?([^_]+)$/.exec(name) ?? []
  return prefix + (singulars.get(last) ?? singularize(last))
}

/** Words that the rules of the inflection library get wrong. */
const singulars = new Map<string, string>([
  ['cookies', 'cookie'],
  ['caches', 'cache'],
  ['analyses', 'analysis'],
  ['lenses', 'lens'],
  ['lens', 'lens'],
  ...['focus', 'virus', 'campus', 'bonus', 'census', 'chorus', 'surplus', 'walrus', 'canvas', 'atlas'].map(
    (word) => [`${word}es`, word] as const,
  ),
  ['axes', 'axis'],
  ['shoes', 'shoe'],
])

/**
 * Humanizes the name of a field: `published_at` -> `Published at`, `author_id` -> `Author`, `label_ids` -> `Labels`,
 * `api_url` -> `API URL`.
 */
export const humanize = memoize((field) => capitalizeAcronyms(humanizeWord(withoutIds(field))), 1000)

/** `label_ids` -> `labels`. inflection removes `_id` itself. */
function withoutIds(field: string): string {
  return field.endsWith('_ids') ? collectionName(field.slice(0, -'_ids'.length)) : field
}

/** Writes words that are acronyms in capitals: `Book isbn` -> `Book ISBN`, `urls` -> `URLs`. */
function capitalizeAcronyms(words: string): string {
  return words.replaceAll(/[a-z]+/gi, (word) => {
    const acronym = word.toLowerCase()
    if (acronyms.has(acronym)) return acronym.toUpperCase()
    return acronym.endsWith('s') && acronyms.has(acronym.slice(0, -1))
      ? `${acronym.slice(0, -1).toUpperCase()}s`
      : word
  })
}

/** Acronyms that cannot be mistaken for words. */
const acronyms = new Set(
  [
    'api bic cpu css csv dns dvd faq ftp gif gps html http https iban id imap ip isbn issn jpeg jpg json',
    'pdf png rss sku sms smtp sql ssh ssl svg tcp tls tv udp ui uri url usb utc uuid vat vip vpn www xml yaml',
  ].flatMap((line) => line.split(' ')),
)

/** Returns the most similar known word for "did you mean", or undefined if none is similar enough. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const ranked = [...known].map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
  const best = ranked.toSorted((a, b) => a.distance - b.distance)[0]
  return best && best.distance <= Math.max(2, word.length / 3) ? best.candidate : undefined
}

/** Whether two words differ by one added, missing, replaced or swapped letter: `lsit` and `list`. */
export function isOneLetterOff(word: string, other: string): boolean {
  const start = commonStart(word, other)
  const end = commonStart(reversed(word.slice(start)), reversed(other.slice(start)))
  const [a, b] = [word, other].map((text) => text.slice(start, text.length - end)) as [string, string]
  if (a === b) return false
  return (a.length <= 1 && b.length <= 1) || (a.length === 2 && a === reversed(b))
}

function commonStart(a: string, b: string): number {
  const difference = [...a].findIndex((letter, index) => letter !== b[index])
  return difference === -1 ? a.length : difference
}

function reversed(text: string): string {
  return [...text].toReversed().join('')
}

/** The static words of a path. A word before a parameter is singular, because it names an item. */
function words(path: string): string[] {
  const segments = path.split('/').filter(Boolean)
  return segments.flatMap((segment, index) => {
    if (isParameter(segment)) return []
    const next = segments[index + 1]
    return next && isParameter(next) ? itemName(snakeCase(segment)) : snakeCase(segment)
  })
}

function staticSegments(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '' && !isParameter(segment))
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

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...b].entries()) {
      const cost = letter === other ? 0 : 1
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + cost))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
