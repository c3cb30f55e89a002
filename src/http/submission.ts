import type { ClassConstructor } from 'class-transformer'
import type { FileReader } from './body/uploads.js'

/** The submitted data of a request. */
export interface Submission {
  /** The parsed body. */
  body: unknown
  /** Whether the body is JSON. If not, a string for a JSON column is parsed as JSON. */
  isJson: boolean
  /** Whether the body is a form. If a form repeats a field, the last value wins. */
  isForm: boolean
  /** The time zone of datetimes without an offset (UTC). */
  timeZone?: string
  /** Reads the files of the request. */
  readFiles?: FileReader | undefined
}

/** The submitted values of a list, else undefined. A form may send one or an object, XML one element. */
export function valuesOf(value: unknown, { isJson, isForm }: Submission): unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (isForm && typeof value === 'object' && value !== null) return Object.values(value)
  return isJson ? undefined : [value]
}

/** Whether a value is text without characters, or of white space alone. */
export function isBlank(value: unknown): boolean {
  return typeof value === 'string' && value.trim() === ''
}

/** Whether a value is an object with the fields of a record. */
export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The cast is correct, because the class of a body can be instantiated without arguments. */
export function createObject(type: Function): object {
  return new (type as ClassConstructor<object>)()
}
