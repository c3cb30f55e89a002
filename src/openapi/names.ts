import { itemName, pathNames } from '../extension.js'
import { DeclarationError, type DeclaredRoute, type RouteResource } from '../index.js'

/** The seven handlers, and the verb of their summary. */
const VERBS: Record<string, string> = {
  list: 'Lists',
  show: 'Shows',
  create: 'Creates',
  update: 'Changes',
  destroy: 'Deletes',
}

/** The names of an operation: those of its description, else derived from its own route. */
export interface OperationNames {
  operationId: string
  summary: string
  tag: string | undefined
  /** `Post`, the beginning of the names of schemas: `PostInput`. */
  item: string
}

/** Whether a handler is one of the seven, whose routes are fixed. */
export function isAction(handler: string): boolean {
  return handler in VERBS
}

/**
 * Returns the names of an operation.
 *
 * @throws DeclarationError when its handler has no name
 */
export function operationNames(route: DeclaredRoute, method: string): OperationNames {
  const derived = route.resource ? ofResource(route, route.resource, method) : ofFunction(route, method)
  const { operationId = derived.operationId, summary = derived.summary } = route.description
  return { ...derived, operationId, summary }
}

function ofResource(route: DeclaredRoute, resource: RouteResource, method: string): OperationNames {
  const { action, isSingular, itemPath } = resource
  const path = isSingular ? itemPath : itemPath.replace(/\/[^/]*$/, '')
  const paths = pathNames(path, isSingular)
  const [item, collection] = [paths.item, paths.collection].map((name) =>
    capitalize(name.replace(/Path$/, '')),
  )
  const ofCollection =
    action === 'list' || (!isAction(action) && !isSingular && !route.path.startsWith(itemPath))
  const verb = action === 'update' && method === 'PUT' && route.methods.includes('PATCH') ? 'put' : action
  const many = wordsOf(collection ?? '').join(' ')
  const one = isSingular ? `the ${wordsOf(item ?? '').join(' ')}` : withArticle(wordsOf(item ?? '').join(' '))
  const object = ofCollection ? many : one
  return {
    operationId: verb + (ofCollection ? collection : item),
    summary: `${VERBS[action] ?? thirdPerson(action)} ${object}`,
    tag: many.replace(/ index$/, ''),
    item: item ?? '',
  }
}

function ofFunction({ handlerName, description, path }: DeclaredRoute, method: string): OperationNames {
  const name = handlerName === 'anonymous' ? description.operationId : handlerName
  if (name === undefined) {
    throw new DeclarationError(
      `${method} ${path} has no name in the OpenAPI document, because its handler has none. Name the function, or set the "operationId" option.`,
    )
  }
  return { operationId: name, summary: thirdPerson(name), tag: undefined, item: capitalize(name) }
}

/** `closeTicket` -> `Closes ticket` */
function thirdPerson(name: string): string {
  const [verb = '', ...rest] = wordsOf(name)
  const ending = /(s|x|z|ch|sh|o)$/.test(verb)
    ? `${verb}es`
    : /[^aeiou]y$/.test(verb)
      ? `${verb.slice(0, -1)}ies`
      : `${verb}s`
  return [capitalize(itemName(verb) === verb ? ending : verb), ...rest].join(' ')
}

function withArticle(words: string): string {
  return `${/^[aeiou]/i.test(words) ? 'an' : 'a'} ${words}`
}

/** `postComments` -> `post comments` */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[\s_]+/)
}

export function capitalize(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
