import 'reflect-metadata'
import type { ResourceClass, ResourceOptions } from './resource.js'

/** The metadata that decorators record for a resource class. */
export interface ResourceMetadata {
  path?: string
  options?: ResourceOptions
  parent?: ResourceClass
}

const key = Symbol('resource-kit:resource')

/** Records metadata of a class. */
export function describeResource(target: object, metadata: ResourceMetadata): void {
  Reflect.defineMetadata(key, { ...resourceMetadata(target), ...metadata }, target)
}

/** The metadata of a class, including that of the classes it extends. */
export function resourceMetadata(target: object): ResourceMetadata {
  const metadata: ResourceMetadata | undefined = Reflect.getMetadata(key, target)
  return metadata ?? {}
}
