/**
 * A value for each request. It is a member of the request's context: with a WeakMap, to which each request adds a key,
 * the garbage collector has much to do.
 */
export class PerRequest<T> {
  private readonly key: symbol

  /** @param name what the member is called for those who look at a context */
  constructor(name: string) {
    this.key = Symbol(`resource-kit:${name}`)
  }

  /** Whether a request has one, be it undefined. */
  has(ctx: object): boolean {
    return Object.hasOwn(ctx, this.key)
  }

  get(ctx: object): T | undefined {
    // Nobody else knows the key: what is there was set here.
    return (ctx as Record<symbol, T>)[this.key]
  }

  set(ctx: object, value: T): void {
    ;(ctx as Record<symbol, T>)[this.key] = value
  }

  delete(ctx: object): void {
    Reflect.deleteProperty(ctx, this.key)
  }
}
