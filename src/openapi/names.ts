import { itemName, pathNames } from '../extension.js'
import { DeclarationError, type DeclaredRoute, type RouteResource } from '../index.js'

/** Those of the seven handlers that serve records. The other two serve forms. */
const ACTIONS = ['list', 'show', 'create', 'update', 'destroy']

/** The verbs of summaries that the names of handlers do not have. */
const VERBS: Record<string, string> = { update: 'Changes', destroy: 'Deletes' }

/** The names of an operation: those of its description, else derived from its own route. */
export interface OperationNames {
  operationId: string
  summary: string
  tag: string | undefined
  /** `Post`, the beginning of the names of schemas: `PostInput`. */
  item: string
}

/** Whether a handler serves records at a fixed route. */
export function isAction(handler: string): boolean {
  return ACTIONS.includes(handler)
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
  const paths = pathNames(isSingular ? itemPath : itemPath.replace(/\/[^/]*$/, ''), isSingular)
  const item = capitalize(paths.item.replace(/Path$/, ''))
  const collection = capitalize(paths.collection.replace(/Path$/, ''))
  const ofCollection =
    action === 'list' || (!isAction(action) && !isSingular && !route.path.startsWith(itemPath))
  const verb = action === 'update' && method === 'PUT' && route.methods.includes('PATCH') ? 'put' : action
  const many = wordsOf(collection).join(' ')
  const one = wordsOf(item).join(' ')
  const article = isSingular ? 'the' : /^[aeiou]/.test(one) ? 'an' : 'a'
  return {
    operationId: verb + (ofCollection ? collection : item),
    summary: `${VERBS[action] ?? thirdPerson(action)} ${ofCollection ? many : `${article} ${one}`}`,
    tag: many.replace(/ index$/, ''),
    item,
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
