/** Receives the errors of promises that nobody has awaited. */
export interface Owner {
  lose(error: unknown): void
}

/**
 * A promise that knows whether somebody has awaited it. If nobody has, its owner receives its error, which then does not end
 * the process.
 */
export class ObservedPromise<T> extends Promise<T> {
  /** The promises that are derived from one are ordinary ones. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** Observes a promise. */
  static from<T>(promise: Promise<T>, owner: Owner): ObservedPromise<T> {
    const observed = new ObservedPromise<T>((fulfill, reject) => {
      promise.then(fulfill, (error: unknown) => {
        reject(error)
        if (!observed.isAwaited) observed.expire(error)
      })
    })
    observed.owner = owner
    return observed
  }

  isAwaited = false
  private owner: Owner | undefined

  // `await` calls it, because the class is not Promise itself.
  // oxlint-disable-next-line unicorn/no-thenable
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true
    const derived = super.then(onFulfilled, onRejected)
    return onRejected ? derived : this.own(derived)
  }

  override finally(onEnd?: (() => void) | null): Promise<T> {
    return this.own(super.finally(onEnd))
  }

  /** Observes a promise that fails with this one. */
  private own<R>(derived: Promise<R>): Promise<R> {
    return this.owner ? ObservedPromise.from(derived, this.owner) : derived
  }

  /** Gives the error to the owner, unless code that is running now awaits this promise. */
  private expire(reason: unknown): void {
    super.then(undefined, () => {})
    process.nextTick(() => {
      if (!this.isAwaited) this.owner?.lose(reason)
    })
  }
}
