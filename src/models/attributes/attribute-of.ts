import type { Model } from '../model.js'

/** The names of a class's attributes: its properties that are neither methods, nor relations, nor the id and the timestamps. */
export type AttributeOf<T> = Exclude<
  {
    [Name in keyof T & string]-?: NonNullable<T[Name]> extends Function | Model | readonly Model[]
      ? never
      : Name
  }[keyof T & string],
  keyof Model
>
