import type { Model } from '../model.js'

/**
 * The names of a class's attributes: its properties that are neither methods, nor relations, nor the id and
 * the timestamps. A list of records that is not optional is one of `@Nested`.
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

/** The options of `ctx.bind` for an object that is not the body. */
export interface BindOptions<T> {
  /** The object whose members are copied: the message of a queue, the line of a file, a part of a body. */
  from: object
  /** The attributes that it may set; without it, those of `ctx.bind(record)`. */
  fields?: readonly AttributeOf<T>[]
}
