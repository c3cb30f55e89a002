import 'reflect-metadata'
import type { ResourceClass, ResourceOptions } from './resource.js'

/** What the decorators say of a resource class. */
export interface ResourceMetadata {
  path?: string
  options?: ResourceOptions
  parent?: ResourceClass
}

const key = Symbol('resource-kit:resource')

/** Records what a decorator says of a class. */
export function describeResource(target: object, metadata: ResourceMetadata): void {
  Reflect.defineMetadata(key, { ...resourceMetadata(target), ...metadata }, target)
}

/** What the decorators of a class, and of the classes that it extends, say. */
export function resourceMetadata(target: object): ResourceMetadata {
  const metadata: ResourceMetadata | undefined = Reflect.getMetadata(key, target)
  return metadata ?? {}
}

/** The types of a class's constructor parameters, as TypeScript emits them. */
export function constructorParameters(target: object): unknown[] {
  const types: unknown[] | undefined = Reflect.getMetadata('design:paramtypes', target)
  return types ?? []
}

/** The tokens that tsyringe's `@inject` gives to constructor parameters, by their position. */
export function injectedTokens(target: object): Record<number, unknown> {
  const tokens: Record<number, unknown> | undefined = Reflect.getMetadata('injectionTokens', target)
  return tokens ?? {}
}
