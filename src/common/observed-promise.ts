/** A promise that has noted whether somebody has awaited it. */
export class ObservedPromise<T> extends Promise<T> {
  /** The promises that are derived from one are ordinary ones. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /**
   * Observes a promise.
   *
   * @param onLost receives its error if nobody has awaited it by then. The error does not end the process
   */
  static from<T>(promise: Promise<T>, onLost: (error: unknown) => void): ObservedPromise<T> {
    const observed = new ObservedPromise<T>((fulfill) => fulfill(promise))
    observed.catch((error: unknown) => {
      if (!observed.isAwaited) onLost(error)
    })
    observed.isAwaited = false
    return observed
  }

  isAwaited = false

  // `await` calls it, because the class is not Promise itself.
  // oxlint-disable-next-line unicorn/no-thenable
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true
    return super.then(onFulfilled, onRejected)
  }
}
