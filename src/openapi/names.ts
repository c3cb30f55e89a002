import { collectionName, pathNames } from '../extension.js'
import { DeclarationError, type DeclaredRoute, type RouteResource } from '../index.js'

/** The five of the seven handlers that serve records. The others, `new` and `edit`, serve forms. */
export const ACTIONS: readonly string[] = ['list', 'show', 'create', 'update', 'destroy']

/** The names that are derived from the route of an operation. */
export interface OperationNames {
  operationId: string
  summary: string
  tags?: string[]
  /** `Post`, the beginning of the names of schemas: `PostInput`. */
  item: string
}

/**
 * Returns the names of an operation.
 *
 * @throws DeclarationError when its handler has no name
 */
export function operationNames(route: DeclaredRoute, method: string): OperationNames {
  const { resource, handlerName, description, path } = route
  if (resource) return resourceNames(route, resource, method)
  const name = handlerName === 'anonymous' ? description.operationId : handlerName
  if (name === undefined) {
    throw new DeclarationError(
      `${method} ${path} has no name in the OpenAPI document, because its handler has none. Name the function, or set the "operationId" option.`,
    )
  }
  return { operationId: name, summary: thirdPerson(name), item: capitalize(name) }
}

function resourceNames(route: DeclaredRoute, resource: RouteResource, method: string): OperationNames {
  const { action, isSingular, itemPath } = resource
  // The path of an item ends with its parameter, unless the resource is singular.
  const paths = pathNames(isSingular ? itemPath : itemPath.replace(/\/[^/]*$/, ''), isSingular)
  const item = capitalize(paths.item.replace(/Path$/, ''))
  const collection = capitalize(paths.collection.replace(/Path$/, ''))
  const isOfItem =
    isSingular || (ACTIONS.includes(action) ? action !== 'list' : route.path.startsWith(itemPath))
  const subject = isOfItem ? item : collection
  // A route with PATCH and PUT has two operations, which need different ids.
  const verb = action === 'update' && method === 'PUT' && route.methods.includes('PATCH') ? 'put' : action
  const words = wordsOf(subject).join(' ')
  const article = isSingular ? 'the ' : /^[aeiou]/.test(words) ? 'an ' : 'a '
  return {
    operationId: verb + subject,
    summary: `${thirdPerson(action)} ${isOfItem ? article : ''}${words}`,
    tags: [
      wordsOf(collection)
        .join(' ')
        .replace(/ index$/, ''),
    ],
    item,
  }
}

/** `closeTicket` -> `Closes ticket` */
function thirdPerson(name: string): string {
  const [verb = '', ...rest] = wordsOf(name)
  // A verb gets the ending of a plural: `publishes`, `copies`. Only the verbs that end with "o" differ:
  // `goes`.
  return [capitalize(collectionName(verb).replace(/os$/, 'oes')), ...rest].join(' ')
}

/** `postComments` -> `post comments` */
function wordsOf(name: string): string[] {
  return name.split(/(?<=[\p{Ll}\d])(?=\p{Lu})|_/u).map((word) => word.toLowerCase())
}

/** The name of the schema of a body: that of its class, which may already name a body: `OrderRequest`. */
export function bodyName(className: string): string {
  return /(Body|Request|Input)$/.test(className) ? className : `${className}Body`
}

export function capitalize(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
