import type { EntityMetadata } from 'typeorm'
import { isHiddenProperty } from '../../attributes/transform-metadata.js'

/**
 * Whether JSON and XML don't show a property of a model as it is stored: `select: false`, or the rules of
 * class-transformer. A filter by such a column would reveal its value bit by bit.
 */
export function isHidden({ target, columns }: EntityMetadata, property: string): boolean {
  const column = columns.find(({ propertyPath }) => propertyPath === property)
  return column?.isSelect === false || isHiddenProperty(target, property.split('.')[0] ?? property)
}
