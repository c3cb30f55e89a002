import { createRequire } from 'node:module'
import type * as ClassTransformer from 'class-transformer'
import { memoizeByObject } from '../common/memoize.js'

/** The part of class-transformer's storage that shows whether a class has rules. */
interface Storage {
  getExposedMetadatas(target: unknown): unknown[]
  getExcludedMetadatas(target: unknown): unknown[]
  getStrategy(target: unknown): 'none' | 'exposeAll' | 'excludeAll'
  getExposedProperties(target: unknown, type: number): string[]
  getExcludedProperties(target: unknown, type: number): string[]
  findExposeMetadata(
    target: unknown,
    name: string,
  ): { options?: { groups?: string[]; name?: string } } | undefined
  findTransformMetadatas(target: unknown, name: string, type: number): unknown[]
  _transformMetadatas?: Map<unknown, unknown>
}

// class-transformer does not export its storage; its CommonJS build is the one that Node loads.
const require = createRequire(import.meta.url)
const storageModule: { defaultMetadataStorage: Storage } = require('class-transformer/cjs/storage.js')

/** class-transformer, loaded with the first class that has rules of it. */
export function classTransformer(): typeof ClassTransformer {
  return require('class-transformer')
}

/** Whether a class, or one that it extends, has rules of class-transformer: `@Exclude`, `@Expose` or `@Transform`. */
export function hasTransformMetadata(target: unknown): boolean {
  if (typeof target !== 'function' || target === Object) return false
  return hasRules(target)
}

const hasRules = memoizeByObject((target: object): boolean => {
  const storage = storageModule.defaultMetadataStorage
  return (
    storage.getExposedMetadatas(target).length > 0 ||
    storage.getExcludedMetadatas(target).length > 0 ||
    storage.getStrategy(target) !== 'none' ||
    isTransformed(storage, target)
  )
})

function isTransformed(storage: Storage, target: object): boolean {
  for (
    let it: unknown = target;
    typeof it === 'function' && it !== Function.prototype;
    it = Object.getPrototypeOf(it)
  ) {
    if (storage._transformMetadatas?.has(it)) return true
  }
  return false
}

/** class-transformer's number for the conversion of a record to JSON or XML. */
const toPlainType = 1

/** Whether the rules of a class exclude a property from JSON and XML, restrict it to groups, or change its value. */
export function isHiddenProperty(target: unknown, name: string): boolean {
  if (!hasTransformMetadata(target)) return false
  const storage = storageModule.defaultMetadataStorage
  const isExposed = storage.getExposedProperties(target, toPlainType).includes(name)
  return (
    storage.getExcludedProperties(target, toPlainType).includes(name) ||
    (storage.getStrategy(target) === 'excludeAll' && !isExposed) ||
    (storage.findExposeMetadata(target, name)?.options?.groups ?? []).length > 0 ||
    storage.findTransformMetadatas(target, name, toPlainType).length > 0
  )
}

/** A record as the rules of its class show it in JSON and XML. */
export function exposed(record: object): object {
  return hasTransformMetadata(record.constructor) ? classTransformer().instanceToPlain(record) : record
}

/** The name of a property in JSON and XML. */
export function exposedName(target: Function, name: string): string {
  if (!hasTransformMetadata(target)) return name
  return storageModule.defaultMetadataStorage.findExposeMetadata(target, name)?.options?.name ?? name
}
