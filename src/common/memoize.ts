/** The maximum length of a key whose result is cached. Longer strings are rarely sent twice. */
const maxLength = 300

/** A map with a limit of entries: when it is full, the entry that was added first is removed. */
export class BoundedMap<Value> extends Map<string, Value> {
  constructor(private readonly limit: number) {
    super()
  }

  override set(key: string, value: Value): this {
    super.set(key, value)
    const [oldest] = this.size > this.limit ? this.keys() : []
    if (oldest !== undefined) this.delete(oldest)
    return this
  }
}

/**
 * Caches the results of a function of a string, for example of a header that clients send with each request.
 *
 * @param limit the maximum number of cached results
 */
export function memoize<Result>(compute: (key: string) => Result, limit = 100): (key: string) => Result {
  const results = new BoundedMap<Result>(limit)
  return function memoized(key) {
    const cached = results.get(key)
    // `has` finds a result that is undefined.
    if (cached !== undefined || results.has(key)) return cached as Result
    const result = compute(key)
    if (key.length <= maxLength) results.set(key, result)
    return result
  }
}

/** Caches the results of a function of an object. A result is kept as long as its object. */
export function memoizeByObject<Key extends object, Result>(
  compute: (key: Key) => Result,
): (key: Key) => Result {
  const results = new WeakMap<Key, Result>()
  return function memoized(key) {
    const cached = results.get(key)
    if (cached !== undefined || results.has(key)) return cached as Result
    const result = compute(key)
    results.set(key, result)
    return result
  }
}
