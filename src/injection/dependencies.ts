import 'reflect-metadata'
import { Lifecycle, type DependencyContainer } from 'tsyringe'
import { DeclarationError } from '../errors.js'

/** A parameter of a constructor: the token that tsyringe resolves for it. */
interface Dependency {
  token: unknown
  /** Whether it may be unregistered: `@inject('mailer', { isOptional: true })`. */
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

/** Returns the container that a container searches next. */
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

/** Copies registrations of the parent containers, without their instances, unless the container has its own. */
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

/** Whether a token is registered with a lifecycle: as a singleton, or as scoped. */
export function hasLifecycle(container: DependencyContainer, token: unknown, lifecycle: Lifecycle): boolean {
  return registrationOf(container, token)?.options.lifecycle === lifecycle
}

/** The class that a container instantiates for a token; undefined if it returns a value or calls a factory. */
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

/** `@inject('token')` is stored as a description of the token. A plain type is its own token. */
function toDependency(parameter: unknown): Dependency {
  return typeof parameter === 'object' && parameter !== null && 'token' in parameter
    ? { token: parameter.token, isOptional: 'isOptional' in parameter && parameter.isOptional === true }
    : { token: parameter, isOptional: false }
}

/**
 * Yields the chains of dependencies that begin with a token, each after the chain that it extends. If several tokens depend on
 * the same token, it ends one chain for each singleton above it, not one for each path.
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

/** The tokens that a token depends on, with itself. */
export function dependencyTokens(container: DependencyContainer, token: unknown): Set<unknown> {
  return new Set([...dependencyChains(container, token)].map((chain) => chain.at(-1)))
}

/**
 * Checks the dependencies of a class, and their own dependencies, when the application starts.
 *
 * @throws DeclarationError when the class is a singleton, when a dependency is unknown or is not registered, or when a
 *   singleton would keep an object that belongs to one request
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

function rejectUndecorated(target: Function | undefined): void {
  if (!target || target.length <= constructorParameters(target).length) return
  throw new DeclarationError(
    `The constructor of ${target.name} has parameters of unknown types. Decorate the class with @Resource if it is a resource, ` +
      'otherwise with @injectable(), and enable "emitDecoratorMetadata" in tsconfig.json.',
  )
}

/** The types that the compiler emits for parameters that are not classes, such as an interface or a string. */
const NOT_INJECTABLE: unknown[] = [Object, Number, String, Boolean, Array, Function, undefined]

function rejectUnknown(container: DependencyContainer, owner: unknown): void {
  for (const [index, { token, isOptional }] of dependenciesOf(container, owner).entries()) {
    const parameter = `Parameter ${index + 1} of the constructor of ${describe(owner)}`
    if (NOT_INJECTABLE.includes(token)) {
      throw new DeclarationError(
        `${parameter} isn't a class, so its dependency is unknown. Use a class, or @inject with a token.`,
      )
    }
    // A name must be registered; a class need not be.
    const isName = typeof token === 'string' || typeof token === 'symbol'
    if (isOptional || !isName || container.isRegistered(token, true)) continue
    throw new DeclarationError(
      `${parameter} injects "${describe(token)}", which isn't registered. Register it before the class is used, ` +
        'for example in src/services.ts.',
    )
  }
}

/** @throws DeclarationError when a singleton depends on an object that is created for each request, because it outlives them */
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
