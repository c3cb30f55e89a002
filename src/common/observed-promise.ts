/** Receives the errors of promises that no code has awaited. */
export interface Owner {
  lose(error: unknown): void
}

/**
 * A promise that records whether code has awaited it. If none has when it is rejected, its owner receives the
 * error, and no unhandled rejection ends the process.
 *
 * It is a subclass, because V8 finds the callers of asynchronous code, which messages name, through promises
 * only.
 */
export class ObservedPromise<T> extends Promise<T> {
  /** Promise's own `then` and `finally` return ordinary promises, which `observe` wraps where necessary. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** Returns an observed promise with the same result. */
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

  // `await` calls this method, because the constructor of the promise is not Promise itself.
  // oxlint-disable-next-line unicorn/no-thenable
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true
    const derived = super.then(onFulfilled, onRejected)
    // Without `onRejected`, the derived promise is rejected with the same error.
    return onRejected ? derived : this.observe(derived)
  }

  override finally(onEnd?: (() => void) | null): Promise<T> {
    return this.observe(super.finally(onEnd))
  }

  /** Observes a promise that is derived from this one, for the same owner. */
  private observe<R>(derived: Promise<R>): Promise<R> {
    return this.owner ? ObservedPromise.from(derived, this.owner) : derived
  }

  /** Gives the error to the owner, unless the code that is running now still awaits this promise. */
  private expire(reason: unknown): void {
    // A handler prevents the unhandled rejection. `super`, because it does not count as awaiting.
    super.then(undefined, () => {})
    process.nextTick(() => {
      if (!this.isAwaited) this.owner?.lose(reason)
    })
  }
}
