import 'reflect-metadata'
import { Lifecycle, type DependencyContainer } from 'tsyringe'
import { DeclarationError } from '../errors.js'

/** A dependency of a token, for example a parameter of the constructor of a class. */
interface Dependency {
  /** The token that tsyringe resolves for it. */
  token: unknown
  /** Whether the token may be unregistered: `@inject('mailer', { isOptional: true })`. */
  isOptional: boolean
}

/** The registration of a token in a container. */
interface Registration {
  provider: { useClass?: unknown; useToken?: unknown; useValue?: unknown }
  options: { lifecycle: Lifecycle }
}

/** The private registry of tsyringe, which has no public API for reading registrations. */
interface Internals {
  parent?: DependencyContainer
  _registry?: { _registryMap?: Map<unknown, Registration[]> }
}

/** Returns the container in which a container searches for a token that it has not registered itself. */
function parentOf(container: DependencyContainer): DependencyContainer | undefined {
  return (container as Internals).parent
}

/** Returns the registrations of a container itself, by token. Changes of the map change the container. */
export function registrationsOf(container: DependencyContainer): Map<unknown, Registration[]> {
  return (container as Internals)._registry?._registryMap ?? new Map()
}

/** Returns the registration by which a container resolves a token. */
function registrationOf(container: DependencyContainer, token: unknown): Registration | undefined {
  const parent = parentOf(container)
  return registrationsOf(container).get(token)?.at(-1) ?? (parent && registrationOf(parent, token))
}

/**
 * Copies the registrations of wanted tokens from all parents, except of tokens that the container has
 * registered itself. tsyringe stores the instance of a singleton in its registration; the copies begin
 * without one.
 */
export function inheritRegistrations(
  container: DependencyContainer,
  isWanted: (token: unknown) => boolean,
): void {
  const own = registrationsOf(container)
  const copy = ({ provider, options }: Registration): Registration => ({ provider, options })
  for (let from = parentOf(container); from; from = parentOf(from))
    for (const [token, registrations] of registrationsOf(from))
      if (!own.get(token)?.length && registrations.length > 0 && isWanted(token))
        own.set(token, registrations.map(copy))
}

/** Whether a token is registered with this lifecycle, for example as a singleton. */
export function hasLifecycle(container: DependencyContainer, token: unknown, lifecycle: Lifecycle): boolean {
  return registrationOf(container, token)?.options.lifecycle === lifecycle
}

/** The class that a container instantiates for a token; undefined for a value or a factory. */
export function classOf(container: DependencyContainer, token: unknown): Function | undefined {
  const registration = registrationOf(container, token)
  const target = registration ? registration.provider.useClass : token
  return typeof target === 'function' ? target : undefined
}

/** The types of a class's constructor parameters, as TypeScript emits them. */
export function constructorParameters(target: object): unknown[] {
  return Reflect.getMetadata('design:paramtypes', target) ?? []
}

/** Returns the direct dependencies of a token. The dependencies of a factory are unknown. */
function dependenciesOf(container: DependencyContainer, token: unknown): Dependency[] {
  const useToken = registrationOf(container, token)?.provider.useToken
  if (useToken !== undefined) return [{ token: useToken, isOptional: false }]
  const target = classOf(container, token)
  if (!target) return []
  // The tokens of parameters with tsyringe's `@inject`, by position.
  const injected: Record<number, unknown> = Reflect.getMetadata('injectionTokens', target) ?? {}
  return constructorParameters(target).map((type, position) => toDependency(injected[position] ?? type))
}

/** tsyringe stores some forms of `@inject` as an object with the token. Others are tokens themselves. */
function toDependency(parameter: unknown): Dependency {
  return typeof parameter === 'object' && parameter !== null && 'token' in parameter
    ? { token: parameter.token, isOptional: 'isOptional' in parameter && parameter.isOptional === true }
    : { token: parameter, isOptional: false }
}

/**
 * Yields the chains of dependencies that begin with a token, each after the chain that it extends. For
 * `rejectCaptured`, only the last token of a chain and the last singleton in it matter, so there is one chain
 * for each pair of them, not for each path. This also ends cycles.
 */
function* dependencyChains(
  container: DependencyContainer,
  token: unknown,
  path: readonly unknown[] = [],
  visited = new Map<unknown, Set<unknown>>(),
): Generator<readonly unknown[]> {
  const singleton = lastSingleton(container, path)
  const visitedTokens = visited.get(singleton) ?? new Set()
  if (visitedTokens.has(token)) return
  visited.set(singleton, visitedTokens.add(token))
  const chain = [...path, token]
  yield chain
  for (const next of dependenciesOf(container, token))
    yield* dependencyChains(container, next.token, chain, visited)
}

function lastSingleton(container: DependencyContainer, chain: readonly unknown[]): unknown {
  return chain.findLast((token) => hasLifecycle(container, token, Lifecycle.Singleton))
}

/** A token, and all tokens that it depends on, directly or indirectly. */
export function dependencyTokens(container: DependencyContainer, token: unknown): Set<unknown> {
  return new Set([...dependencyChains(container, token)].map((chain) => chain.at(-1)))
}

/**
 * Checks the dependencies of a class, and their own dependencies, when the application starts.
 *
 * @throws DeclarationError when the class is a singleton, when the types of its parameters are missing, when
 *   a dependency is unknown or is not registered, or when a singleton would keep an object that belongs to
 *   one request
 */
export function checkDependencies(container: DependencyContainer, target: Function): void {
  if (hasLifecycle(container, target, Lifecycle.Singleton)) {
    throw new DeclarationError(
      `${target.name} is registered as a singleton, but each request needs its own instance. ` +
        'Replace @singleton() with @injectable(), and keep shared data in another class.',
    )
  }
  for (const chain of dependencyChains(container, target)) {
    const token = chain.at(-1)
    rejectUndecorated(classOf(container, token))
    rejectUnknown(container, token)
    rejectCaptured(container, chain)
  }
}

/** @throws DeclarationError when no types were emitted for the parameters, as for undecorated classes */
function rejectUndecorated(target: Function | undefined): void {
  // `length` counts the parameters before the first default value.
  if (!target || target.length <= constructorParameters(target).length) return
  throw new DeclarationError(
    `The constructor of ${target.name} has parameters of unknown types. Decorate the class with @Resource if it is a resource, ` +
      'otherwise with @injectable(), and enable "emitDecoratorMetadata" in tsconfig.json.',
  )
}

/** The types that the compiler emits for parameters that are not classes, an interface or a string. */
const NOT_INJECTABLE: unknown[] = [Object, Number, String, Boolean, Array, Function, undefined]

/** @throws DeclarationError when a dependency of `owner` isn't a class, or is an unregistered name */
function rejectUnknown(container: DependencyContainer, owner: unknown): void {
  for (const [index, { token, isOptional }] of dependenciesOf(container, owner).entries()) {
    const parameter = `Parameter ${index + 1} of the constructor of ${describe(owner)}`
    if (NOT_INJECTABLE.includes(token)) {
      throw new DeclarationError(
        `${parameter} isn't a class, so its dependency is unknown. Use a class, or @inject with a token.`,
      )
    }
    // A name must be registered, unlike a class, which tsyringe instantiates without a registration.
    const isName = typeof token === 'string' || typeof token === 'symbol'
    if (isOptional || !isName || container.isRegistered(token, true)) continue
    throw new DeclarationError(
      `${parameter} injects "${describe(token)}", which isn't registered. Register it before the class is used, ` +
        'for example at the top of src/app.ts.',
    )
  }
}

/** @throws DeclarationError when a singleton in the chain would outlive the object of a request */
function rejectCaptured(container: DependencyContainer, chain: readonly unknown[]): void {
  const token = chain.at(-1)
  const singleton = lastSingleton(container, chain)
  if (singleton === undefined || !hasLifecycle(container, token, Lifecycle.ContainerScoped)) return
  throw new DeclarationError(
    `The singleton ${describe(singleton)} depends on ${describe(token)}, which is created for each request ` +
      `(${chain.map(describe).join(' -> ')}): it would leak data from one request to the next. ` +
      `Make ${describe(singleton)} scoped, too.`,
  )
}

/** Returns the name of a token for messages. */
export function describe(token: unknown): string {
  return typeof token === 'function' ? token.name : String(token)
}
