import { camelize } from 'inflection'
import { BadRoute, problemIn } from '../../command-errors.js'
import { defaultPathName } from '../../naming/names.js'
import { humanize } from '../../naming/words.js'
import { isName, snakeCase, type Names } from './names.js'
import type { Nesting } from '../nesting.js'

/** A route as the command line describes it, `publish:post` or `drafts:get:collection`, and its derived names. */
export interface AddedRoute {
  /** `mark_read`: the end of the path, and a part of the id of its message. */
  word: string
  /** `markRead`: the method of the resource class. */
  handler: string
  method: string
  /** Whether it belongs to one record or to the collection. */
  on: 'item' | 'collection'
  /** The path of `@Route`: `/{post_id}/mark_read`. */
  path: string
  /** `/posts/{post_id}/mark_read` */
  fullPath: string
}

/** The messages of the seven routes have these ids, and so would those of routes that change records. */
const messages = ['created', 'updated', 'destroyed']

const methods = ['get', 'post', 'put', 'patch', 'delete']

/** The method names that a resource class or every object already has. */
const reserved = new Set(
  ['list', 'create', 'new', 'show', 'update', 'destroy', 'edit'].concat(
    Object.getOwnPropertyNames(Object.prototype),
  ),
)

/**
 * Parses the routes of a command line.
 *
 * @throws BadRoute when a route is malformed, or when its name is reserved or used twice
 */
export function parseRoutes(words: readonly string[], names: Names): AddedRoute[] {
  const routes = words.map((word) => parseRoute(word, names))
  const handlers = routes.map(({ handler }) => handler)
  for (const [index, handler] of handlers.entries()) {
    if (handlers.indexOf(handler) === index) continue
    throw new BadRoute(words[index] ?? '', `the name "${handler}" is used twice`)
  }
  return routes
}

function parseRoute(text: string, names: Names): AddedRoute {
  const [name = '', method = '', ending = '', ...rest] = text.split(':')
  const word = snakeCase(name)
  const handler = camelize(word, true)
  const isTaken = messages.includes(word) && method.toLowerCase() !== 'get'
  const problem = problemIn([
    [!isName(word), 'its name must be a word like publish'],
    // The generator itself uses names that begin with `find`.
    [reserved.has(handler) || isTaken || word.startsWith('find_'), `the name "${name}" is reserved`],
    [
      !methods.includes(method.toLowerCase()),
      `its method must be one of ${methods.join(', ')}, as in ${name}:post`,
    ],
    [
      !['', 'collection'].includes(ending) || rest.length > 0,
      `it must end with its method or with "collection", as in ${name}:${method}:collection`,
    ],
    [names.isSingular && ending !== '', 'a singular resource has no collection'],
  ])
  if (problem) throw new BadRoute(text, problem)
  const on = ending === '' ? 'item' : 'collection'
  const path = on === 'item' && !names.isSingular ? `/{${names.param}}/${word}` : `/${word}`
  return { word, handler, method: method.toUpperCase(), on, path, fullPath: names.fullPath + path }
}

/** The variables of the scaffolds for routes. */
export function routeLocals(routes: readonly AddedRoute[], names: Names, nesting: Nesting) {
  const { many, aOne } = names.words
  const all = routes.map((route) => {
    const [isRead, isItem] = [route.method === 'GET', route.on === 'item']
    const records = isItem ? aOne : isRead ? `some ${many}` : many
    return {
      ...route,
      isRead,
      isItem,
      /** The ability that a user needs to see the button. */
      ability: isRead ? undefined : route.handler,
      /** The variable with the response's data. */
      data: isItem ? names.one : names.many,
      sentence: `${isRead ? 'shows' : 'changes'} ${records}`,
      success: `${humanize(route.word)} succeeded.`,
      label: humanize(route.word),
      button: buttonOf(route, names, nesting),
    }
  })
  return {
    routes: all,
    changes: all.filter(({ method }) => method !== 'GET'),
    buttons: {
      item: all.filter(({ isItem }) => isItem),
      collection: all.filter(({ isItem }) => !isItem),
    },
  }
}

/** Returns the source of a link, or of a button if the route changes records, for a template. */
function buttonOf(
  { method, word, on, fullPath }: AddedRoute,
  { ids }: Names,
  { records, parentRecords }: Nesting,
): string {
  const path = `${defaultPathName(fullPath)}(${on === 'item' ? records : parentRecords})`
  const text = `t('${ids.one}.${word}.button')`
  if (method === 'GET') return `a.button(href=${path})= ${text}`
  const options = method === 'POST' ? '' : `, { method: '${method}' }`
  return `!= actionButton(${path}, ${text}${options})`
}
