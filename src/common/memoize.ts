/** The maximum length of a text whose result is cached. Longer texts are rarely sent twice. */
const maxLength = 300

/** A map with a limit: when it is full, the oldest entry is removed. */
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

/** Caches the results of a function of texts, for example of a header that clients send with each request. */
export function memoize<Result>(compute: (text: string) => Result, limit = 100): (text: string) => Result {
  const results = new BoundedMap<Result>(limit)
  return function memoized(text) {
    const cached = results.get(text)
    // A result may be undefined.
    if (cached !== undefined || results.has(text)) return cached as Result
    const result = compute(text)
    if (text.length <= maxLength) results.set(text, result)
    return result
  }
}

/** Caches the results of a function of objects, for example of classes, as long as the objects exist. */
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
