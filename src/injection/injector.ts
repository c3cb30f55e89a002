import 'reflect-metadata'
import {
  container as globalContainer,
  injectable,
  Lifecycle,
  type DependencyContainer,
  type InjectionToken,
} from 'tsyringe'
import type { Context, Middleware } from '../context.js'
import { DeclarationError } from '../errors.js'
import { PerRequest } from '../common/per-request.js'
import {
  checkDependencies,
  classOf,
  constructorParameters,
  dependencyTokens,
  describe,
  hasLifecycle,
  inheritRegistrations,
  registrationsOf,
} from './dependencies.js'
import { classOfMiddleware, isMiddlewareClass, middlewareOptions } from './middleware-class.js'
import type { AnyMiddleware, MiddlewareConstructor } from './middleware-class.js'

/** A token, and the value that replaces its registration: `[Mailer, fakeMailer]`. */
export type Replacement = readonly [token: InjectionToken, value: unknown]

/** Calls `work` with a new instance of a class. */
type WithInstance<T> = (ctx: Context, work: (instance: T) => unknown) => unknown

// tsyringe calls the constructor with the dependencies it resolves, of any type.
// oxlint-disable-next-line no-explicit-any
type Constructor<T> = new (...dependencies: any[]) => T

/** Creates the resources and middleware classes of an application, with their dependencies. */
export class Injector {
  /** The parent of the containers of requests: the application's container, or that of a test. */
  private parent: DependencyContainer
  private readonly containers = new PerRequest<DependencyContainer>()
  private readonly middleware = new Map<MiddlewareConstructor, Middleware>()
  /** Every token that a class depends on, and the classes themselves. */
  private readonly tokens = new Set<unknown>()

  constructor(private readonly container: DependencyContainer = globalContainer) {
    this.parent = container
  }

  /**
   * Returns the function that instantiates a class for a request. All instances of a request come from one
   * container, which the first call in the request creates, and disposes of when this call ends. A class that
   * neither has dependencies nor is registered is instantiated with `new`.
   *
   * @throws DeclarationError when `checkDependencies` rejects the class
   */
  factory<T>(target: Constructor<T>): WithInstance<T> {
    // tsyringe creates an instance of a scoped class for each request only if the direct parent of the
    // request's container has registered the class. The registrations of parents further up are therefore
    // copied.
    inheritRegistrations(this.container, (token) =>
      hasLifecycle(this.container, token, Lifecycle.ContainerScoped),
    )
    checkDependencies(this.container, target)
    for (const token of dependencyTokens(this.container, target)) {
      this.tokens.add(token)
      decorateForTsyringe(classOf(this.container, token))
    }
    const singletons = singletonsOf(this.container, target)
    const isPlain = constructorParameters(target).length === 0 && !this.container.isRegistered(target, true)
    return (ctx, work) => {
      const isReplaced = this.parent !== this.container
      if (isPlain && !isReplaced) return work(new target())
      // A container disposes of the instances it constructs, so the container of a request must not construct
      // a singleton.
      for (const token of isReplaced ? singletonsOf(this.parent, target) : singletons)
        this.parent.resolve(token)
      return this.withContainer(ctx, (container) => work(container.resolve(target)))
    }
  }

  /**
   * Returns a middleware as a function. A class has one function in an application.
   *
   * @throws DeclarationError when `checkDependencies` rejects a class
   */
  toFunction(middleware: AnyMiddleware): Middleware {
    if (!isMiddlewareClass(middleware)) return middleware
    const existing = this.middleware.get(middleware)
    if (existing) return existing
    const withInstance = this.factory(middleware)
    const handle: Middleware = (ctx, next) => withInstance(ctx, (instance) => instance.handle(ctx, next))
    Object.defineProperty(handle, 'name', { value: middleware.name })
    classOfMiddleware.set(handle, middleware)
    for (const option of middlewareOptions) {
      const value: unknown = Reflect.get(middleware, option)
      if (value !== undefined)
        Object.assign(handle, { [option]: typeof value === 'function' ? value.bind(middleware) : value })
    }
    this.middleware.set(middleware, handle)
    return handle
  }

  /**
   * Replaces dependencies for the requests that begin from now on.
   *
   * @returns the function that restores them
   * @throws DeclarationError when a token is neither injected nor registered
   */
  replace(replacements: readonly Replacement[]): () => Promise<void> {
    for (const [token] of replacements) {
      if (this.tokens.has(token) || this.container.isRegistered(token, true)) continue
      throw new DeclarationError(
        `${describe(token)} cannot be replaced, because no resource or middleware class of the application injects it.`,
      )
    }
    const previous = this.parent
    const container = createTestContainer(previous, replacements)
    this.parent = container
    return async () => {
      this.parent = previous
      await container.dispose()
    }
  }

  /** Calls `work` with the container of a request, which the first call of the request creates. */
  private async withContainer(ctx: Context, work: (container: DependencyContainer) => unknown) {
    const existing = this.containers.get(ctx)
    if (existing) return work(existing)
    const container = this.parent.createChildContainer()
    this.containers.set(ctx, container)
    try {
      return await work(container)
    } finally {
      this.containers.delete(ctx)
      await container.dispose()
    }
  }
}

function singletonsOf(container: DependencyContainer, target: Function): InjectionToken[] {
  const tokens = [...dependencyTokens(container, target)] as InjectionToken[]
  return tokens.filter((token) => hasLifecycle(container, token, Lifecycle.Singleton))
}

/** Decorates a class with `@injectable()`. Without it, tsyringe ignores inherited dependencies. */
function decorateForTsyringe(target: Function | undefined): void {
  if (target && constructorParameters(target).length > 0) injectable()(target as Constructor<unknown>)
}

/**
 * Creates a child container in which values replace dependencies. The child has its own instance of each
 * singleton that depends on a replaced token, directly or indirectly, because the parent's instance holds the
 * original dependency.
 */
function createTestContainer(
  parent: DependencyContainer,
  replacements: readonly Replacement[],
): DependencyContainer {
  const container = parent.createChildContainer()
  const tokens = new Set<unknown>(replacements.map(([token]) => token))
  inheritRegistrations(
    container,
    (token) =>
      hasLifecycle(parent, token, Lifecycle.Singleton) &&
      [...dependencyTokens(parent, token)].some((dependency) => tokens.has(dependency)),
  )
  const options = { lifecycle: Lifecycle.Transient }
  // `container.register` would add the value to an inherited registration instead of replacing it.
  for (const [token, useValue] of replacements)
    registrationsOf(container).set(token, [{ provider: { useValue }, options }])
  return container
}
