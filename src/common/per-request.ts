/** The values of one request, by the number of their kind. */
type Values = Record<number, unknown>

const key = Symbol('resource-kit:values')

/** The number of kinds of values. */
let kinds = 0

/**
 * A value for each request. All values of a request are in one member of its context: V8 stores an object with more than
 * about twenty members as a dictionary, which makes each access slow. A WeakMap with a key for each request would be
 * expensive to collect.
 */
export class PerRequest<T> {
  private readonly kind = kinds++

  /** Whether a request has a value, even if it is undefined. */
  has(ctx: object): boolean {
    const values = ownValues(ctx)
    return values !== undefined && Object.hasOwn(values, this.kind)
  }

  /** Returns the value of a request, or of the request that its context is derived from. */
  get(ctx: object): T | undefined {
    // Only this instance has this number: the value was set here.
    return valuesOf(ctx)?.[this.kind] as T | undefined
  }

  set(ctx: object, value: T): void {
    const values = ownValues(ctx) ?? addValues(ctx)
    values[this.kind] = value
  }

  delete(ctx: object): void {
    const values = ownValues(ctx)
    if (values) delete values[this.kind]
  }
}

function valuesOf(ctx: object): Values | undefined {
  // Only this file has the key.
  return (ctx as { [key]?: Values })[key]
}

function ownValues(ctx: object): Values | undefined {
  return Object.hasOwn(ctx, key) ? valuesOf(ctx) : undefined
}

/** Adds values to a context. Those of a derived context inherit the others. */
function addValues(ctx: object): Values {
  const values: Values = Object.create(valuesOf(ctx) ?? Object.prototype)
  ;(ctx as { [key]?: Values })[key] = values
  return values
}
