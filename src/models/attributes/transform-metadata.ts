import type * as ClassTransformer from 'class-transformer'
import { memoizeByObject } from '../../common/memoize.js'
import { ancestorsOf } from './attributes.js'
import { require } from '../../common/lazy.js'

/** The options of a rule: the direction in which it applies (by default both), and the field's name. */
interface RuleOptions {
  toClassOnly?: boolean
  toPlainOnly?: boolean
  name?: string
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
const storageModule: { defaultMetadataStorage: Storage } = require('class-transformer/cjs/storage.js')

/** Loads class-transformer, which only applications with its rules need. */
function classTransformer(): typeof ClassTransformer {
  return require('class-transformer')
}

/** Applies the rules of the class of an instance to the fields of a request, and copies them to it. */
export function applyFields(instance: object, fields: Record<string, unknown>): object {
  return withSafeNames(fields, (safe) =>
    classTransformer().plainToClassFromExist(instance, safe, { exposeUnsetFields: false }),
  )
}

/** Applies the rules of the classes of a value, and of the values within it, for JSON and XML. */
export function toPlainObject(value: object): object {
  return withSafeNames(value, (safe) => classTransformer().instanceToPlain(safe))
}

/** Rules apply to fields that become attributes (`toClass`), or to records in responses (`toPlain`). */
type Direction = 'toClass' | 'toPlain'

/** Whether a class or its parent has rules of class-transformer: `@Exclude`, `@Expose` or `@Transform`. */
export function hasTransformMetadata(target: unknown, direction: Direction): boolean {
  return typeof target === 'function' && target !== Object && hasRules[direction](target)
}

const hasRules = {
  toClass: memoizeByObject((target: Function) => searchRules(target, 'toPlainOnly')),
  toPlain: memoizeByObject((target: Function) => searchRules(target, 'toClassOnly')),
}

/** Whether a class has rules besides those that have the `otherOnly` option, for the other direction. */
function searchRules(target: Function, otherOnly: keyof RuleOptions): boolean {
  const storage = storageModule.defaultMetadataStorage
  const rules = [...storage.getExposedMetadatas(target), ...storage.getExcludedMetadatas(target)]
  return (
    rules.some(({ options }) => !options?.[otherOnly]) ||
    storage.getStrategy(target) !== 'none' ||
    hasFunctions(target)
  )
}

function hasFunctions(target: Function): boolean {
  const { _transformMetadatas: functions } = storageModule.defaultMetadataStorage
  return ancestorsOf(target).some((ancestor) => functions?.has(ancestor))
}

/** The fields of `@Expose` for properties of a class; undefined if `@Transform` may read any field. */
export const exposedFields = memoizeByObject((target: Function): readonly unknown[] | undefined =>
  hasFunctions(target)
    ? undefined
    : storageModule.defaultMetadataStorage.getExposedMetadatas(target).map(({ options }) => options?.name),
)

/** class-transformer's numbers for the directions. */
const TYPES: Record<Direction, number> = { toClass: 0, toPlain: 1 }

/** Whether the rules of a class exclude a property from responses, restrict it to groups, or change it. */
export function isHiddenProperty(target: unknown, name: string): boolean {
  if (typeof target !== 'function') return false
  const { isExcluded, isChanged } = transformRules(target, name, 'toPlain')
  return isExcluded || isChanged
}

/** Applies the rules of its class to a record that JSON or XML shows. */
export function applyTransformRules(record: object): object {
  return hasTransformMetadata(record.constructor, 'toPlain') ? toPlainObject(record) : record
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

/**
 * Transforms a value whose data may contain any name, for example in a JSON column. class-transformer takes
 * `constructor` for the class of an object, and loses names such as `valueOf`, so they have a prefix in the
 * meantime.
 */
function withSafeNames<T extends object>(value: T, transform: (safe: T) => object): object {
  const safe = rename(value, (name) =>
    name in Object.prototype || name.startsWith(PREFIX) ? PREFIX + name : name,
  )
  const result = transform(safe)
  return safe === value
    ? result
    : rename(result, (name) => (name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name))
}

const PREFIX = '\0'

/** Returns a copy of a value in which names are replaced, or the value itself if no name in it changes. */
function rename<T>(value: T, replace: (name: string) => string, ancestors: readonly unknown[] = []): T {
  if (typeof value !== 'object' || value === null || ancestors.includes(value)) return value
  // Dates, buffers and the like have no names of data.
  if (value instanceof Date || ArrayBuffer.isView(value)) return value
  const path = [...ancestors, value]
  const members = Object.entries(value)
  const renamed = members.map(([name, inner]) => [replace(name), rename(inner, replace, path)] as const)
  if (renamed.every(([name, inner], index) => name === members[index]?.[0] && inner === members[index]?.[1]))
    return value
  const descriptors = renamed.map(([name, inner]) => [name, { ...property, value: inner }])
  const copy: object = Array.isArray(value) ? [] : Object.create(Object.getPrototypeOf(value))
  return Object.defineProperties(copy, Object.fromEntries(descriptors)) as T
}

/** An ordinary property. */
const property = { enumerable: true, configurable: true, writable: true }
