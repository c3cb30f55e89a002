/** Receives the errors of promises that no code has awaited. */
export interface Owner {
  lose(error: unknown): void
}

/**
 * A promise that notes whether code awaits it. If none does and it is rejected, its owner receives the error, and no unhandled
 * rejection ends the process.
 */
export class ObservedPromise<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = 'Promise'
  isAwaited = false

  constructor(
    private readonly promise: Promise<T>,
    private readonly owner: Owner,
  ) {
    promise.catch((error: unknown) => {
      // The code that is running now may still await it.
      process.nextTick(() => {
        if (!this.isAwaited) owner.lose(error)
      })
    })
  }

  // oxlint-disable-next-line unicorn/no-thenable
  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true
    const derived = this.promise.then(onFulfilled, onRejected)
    // Without `onRejected`, the derived promise is rejected with the same error.
    return onRejected ? derived : new ObservedPromise(derived, this.owner)
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, onRejected)
  }

  finally(onEnd?: (() => void) | null): Promise<T> {
    this.isAwaited = true
    return new ObservedPromise(this.promise.finally(onEnd), this.owner)
  }
}
