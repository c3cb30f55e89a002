import { createRequire } from 'node:module'
import type * as ClassTransformer from 'class-transformer'
import { memoizeByObject } from '../../common/memoize.js'
import { ancestorsOf } from './attributes.js'

/** The direction in which a rule applies. Without these options, it applies in both. */
interface RuleOptions {
  toClassOnly?: boolean
  toPlainOnly?: boolean
}

/** The part of class-transformer's storage that shows which rules a class has. */
interface Storage {
  getExposedMetadatas(target: unknown): { options?: RuleOptions }[]
  getExcludedMetadatas(target: unknown): { options?: RuleOptions }[]
  getStrategy(target: unknown): 'none' | 'exposeAll' | 'excludeAll'
  getExposedProperties(target: unknown, type: number): string[]
  getExcludedProperties(target: unknown, type: number): string[]
  findExposeMetadata(
    target: unknown,
    name: string,
  ): { options?: { groups?: string[]; name?: string } } | undefined
  findTransformMetadatas(target: unknown, name: string, type: number): unknown[]
  findTypeMetadata(target: unknown, name: string): { typeFunction(): Function } | undefined
  _transformMetadatas?: Map<unknown, unknown>
}

// class-transformer does not export its storage; its CommonJS build is the one that Node loads.
const require = createRequire(import.meta.url)
const storageModule: { defaultMetadataStorage: Storage } = require('class-transformer/cjs/storage.js')

/** Loads class-transformer, which only applications with its rules need. */
export function classTransformer(): typeof ClassTransformer {
  return require('class-transformer')
}

/** Rules apply to fields of a request that become attributes (`toClass`), or to records in responses (`toPlain`). */
type Direction = 'toClass' | 'toPlain'

/** Whether a class, or one that it extends, has rules of class-transformer: `@Exclude`, `@Expose` or `@Transform`. */
export function hasTransformMetadata(target: unknown, direction: Direction): boolean {
  return typeof target === 'function' && target !== Object && hasRules[direction](target)
}

const hasRules = {
  toClass: memoizeByObject((target: Function) => searchRules(target, 'toPlainOnly')),
  toPlain: memoizeByObject((target: Function) => searchRules(target, 'toClassOnly')),
}

/** Whether a class has rules besides those that have the `otherOnly` option, and only apply in the other direction. */
function searchRules(target: Function, otherOnly: keyof RuleOptions): boolean {
  const storage = storageModule.defaultMetadataStorage
  const rules = [...storage.getExposedMetadatas(target), ...storage.getExcludedMetadatas(target)]
  return (
    rules.some(({ options }) => !options?.[otherOnly]) ||
    storage.getStrategy(target) !== 'none' ||
    ancestorsOf(target).some((ancestor) => storage._transformMetadatas?.has(ancestor))
  )
}

/** class-transformer's numbers for the directions. */
const TYPES: Record<Direction, number> = { toClass: 0, toPlain: 1 }

/** Whether the rules of a class exclude a property from JSON and XML, restrict it to groups, or change its value. */
export function isHiddenProperty(target: unknown, name: string): boolean {
  if (typeof target !== 'function') return false
  const { isExcluded, isChanged } = transformRules(target, name, 'toPlain')
  return isExcluded || isChanged
}

/** Applies the rules of its class to a record that JSON or XML shows. */
export function applyTransformRules(record: object): object {
  return hasTransformMetadata(record.constructor, 'toPlain')
    ? classTransformer().instanceToPlain(record)
    : record
}

/** The name of a property in JSON and XML. */
export function exposedName(target: Function, name: string): string {
  return hasTransformMetadata(target, 'toPlain') ? transformRules(target, name, 'toPlain').name : name
}

/** The rules of a class for a property, in bodies (`toClass`) or in responses (`toPlain`). */
export function transformRules(target: Function, name: string, direction: Direction) {
  const storage = storageModule.defaultMetadataStorage
  const type = TYPES[direction]
  const { groups = [], name: shownName = name } = storage.findExposeMetadata(target, name)?.options ?? {}
  const isExposed = storage.getExposedProperties(target, type).includes(name)
  return {
    /** Whether bodies or responses leave the property out. */
    isExcluded:
      storage.getExcludedProperties(target, type).includes(name) ||
      (storage.getStrategy(target) === 'excludeAll' && !isExposed) ||
      groups.length > 0,
    /** Whether a function changes the value of the property. */
    isChanged: storage.findTransformMetadatas(target, name, type).length > 0,
    /** The name of the property in bodies or responses. */
    name: shownName,
    /** Returns the class of `@Type`. */
    type: () => storage.findTypeMetadata(target, name)?.typeFunction(),
  }
}

/** The properties with `@Expose` that responses have. */
export function exposedProperties(target: Function): readonly string[] {
  return storageModule.defaultMetadataStorage.getExposedProperties(target, TYPES.toPlain)
}
