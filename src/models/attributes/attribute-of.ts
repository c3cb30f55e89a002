import type { Model } from '../model.js'

/**
 * The names of a class's attributes: its properties that are neither methods, nor relations, nor the id and the timestamps. A list
 * of records that is not optional is one of `@Nested`.
 */
export type AttributeOf<T> = Exclude<
  {
    [Name in keyof T & string]-?: NonNullable<T[Name]> extends Function | Model
      ? never
      : NonNullable<T[Name]> extends readonly Model[]
        ? T[Name] extends readonly Model[]
          ? Name
          : never
        : Name
  }[keyof T & string],
  keyof Model
>
