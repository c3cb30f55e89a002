import type { DataSource } from 'typeorm'
import { definitionOf } from './definition/compile.js'
import type { ListDefinition } from './definition/definition.js'
import { declarationName, type ListRoute } from './request.js'

export type { ListRoute }

/** A list that clients can query. */
export interface DeclaredList {
  /** `PostsResource.list` */
  name: string
  /** The foreign keys of the parents, which have one value in the list. */
  parentKeys: readonly string[]
  definition: ListDefinition
}

/**
 * Returns the lists of an application's routes.
 *
 * @throws DeclarationError when a declaration does not fit its model
 */
export function declaredLists(dataSource: DataSource, routes: readonly ListRoute[]): DeclaredList[] {
  return routes.flatMap(({ handlerName: name, resource }) => {
    const { model, queryable, parentKeys = [] } = resource ?? {}
    if (!model || !queryable) return []
    const metadata = dataSource.getMetadata(model)
    return { name, parentKeys, definition: definitionOf(metadata, queryable, declarationName(name)) }
  })
}
