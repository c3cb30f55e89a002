/** The values of one request, by the number of the `PerRequest` that set them. */
type Values = Record<number, unknown>

const key = Symbol('resource-kit:values')

/** The number of instances of `PerRequest` so far. */
let instances = 0

/**
 * A value for each request. All values of a request are in one property of its context: V8 stores an object
 * with more than about twenty properties as a dictionary, which makes each access slow. A WeakMap from
 * contexts to values would make garbage collections expensive.
 */
export class PerRequest<T> {
  private readonly number = instances++

  /** Whether `set` was called for this context, even if with undefined. An inherited value does not count. */
  has(ctx: object): boolean {
    const values = ownValues(ctx)
    return values !== undefined && Object.hasOwn(values, this.number)
  }

  /** Returns the value of a context, or else of the one that it is derived from (`Object.create(ctx)`). */
  get(ctx: object): T | undefined {
    // The cast is correct, because no other instance has this number.
    return valuesOf(ctx)?.[this.number] as T | undefined
  }

  set(ctx: object, value: T): void {
    const values = ownValues(ctx) ?? addValues(ctx)
    values[this.number] = value
  }

  delete(ctx: object): void {
    const values = ownValues(ctx)
    if (values) delete values[this.number]
  }
}

function valuesOf(ctx: object): Values | undefined {
  // The cast is correct, because only this file has the key.
  return (ctx as { [key]?: Values })[key]
}

function ownValues(ctx: object): Values | undefined {
  return Object.hasOwn(ctx, key) ? valuesOf(ctx) : undefined
}

/** Gives a context its own values, which inherit those of the context that it is derived from. */
function addValues(ctx: object): Values {
  // V8 would store an object without a prototype as a dictionary.
  const values: Values = Object.create(valuesOf(ctx) ?? Object.prototype)
  ;(ctx as { [key]?: Values })[key] = values
  return values
}
