/** The count of a key. */
export interface LimitCount {
  /** The number of requests in the current window, with this one. */
  count: number
  /** The milliseconds until the window ends. */
  milliseconds: number
}

/** Keeps the counts of rate limits by keys (hashes). A window begins with a key's first request. */
export interface LimitStore {
  /**
   * Adds one request to the count of a key, in one atomic step.
   *
   * @param window the length of a new window in milliseconds
   */
  increment(key: string, window: number): Promise<LimitCount>
  /** Subtracts one request from the count of a key. */
  decrement(key: string): Promise<void>
  /** Forgets the count of a key. */
  reset(key: string): Promise<void>
  start?(): Promise<void>
  stop?(): Promise<void>
}
