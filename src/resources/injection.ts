import { container, Lifecycle, type DependencyContainer } from 'tsyringe'
import { DeclarationError } from '../errors.js'
import { constructorParameters, injectedTokens } from './metadata.js'
import type { Resource, ResourceClass } from './resource.js'

/** Calls `work` with an instance of the resource, and then disposes of the instances created for this request. */
export type WithResource = (work: (resource: Resource) => unknown) => Promise<unknown>

/**
 * Returns the factory of a resource class: one instance per request, created by tsyringe from a child container if the
 * class has dependencies, or with `new` if it has none.
 *
 * @throws DeclarationError when dependencies are unknown, or a singleton would keep an object of one request
 */
export function resourceFactory(resource: ResourceClass): WithResource {
  checkDependencies(resource)
  if (constructorParameters(resource).length === 0) return async (work) => work(new resource())
  return async (work) => {
    const child = container.createChildContainer()
    try {
      return await work(child.resolve<Resource>(resource))
    } finally {
      await child.dispose()
    }
  }
}

function checkDependencies(resource: ResourceClass): void {
  if (resource.length > constructorParameters(resource).length) {
    throw new DeclarationError(
      `The constructor of ${resource.name} has parameters of unknown types. Decorate the class with @Resource, and enable "emitDecoratorMetadata" in tsconfig.json.`,
    )
  }
  refuseUnknown(resource, [])
  refuseCaptured(resource, undefined, [])
}

/** The run-time types of dependencies that are not classes: an interface, a number, a string. */
const nameless: unknown[] = [Object, Number, String, Boolean, Array, Function, undefined]

function refuseUnknown(token: unknown, path: unknown[]): void {
  if (path.includes(token)) return
  const registration = registrationOf(token)
  const dependencies = dependenciesOf(token, registration)
  for (const [position, dependency] of dependencies.entries()) {
    if (nameless.includes(dependency)) {
      throw new DeclarationError(
        `Parameter ${position + 1} of the constructor of ${describe(token)} isn't a class, so its dependency is unknown. Use a class, or @inject with a token.`,
      )
    }
    refuseUnknown(dependency, [...path, token])
  }
}

/** A singleton outlives a request, so it must not reach an object that is created for each request. */
function refuseCaptured(token: unknown, singleton: string | undefined, path: unknown[]): void {
  if (path.includes(token)) return
  const chain = [...path, token]
  const registration = registrationOf(token)
  if (singleton && registration?.options.lifecycle === Lifecycle.ContainerScoped) {
    throw new DeclarationError(
      `The singleton ${singleton} depends on ${describe(token)}, which is created for each request (${chain.map(describe).join(' -> ')}): it would leak data from one request to the next. Make ${singleton} scoped, too.`,
    )
  }
  const holder = registration?.options.lifecycle === Lifecycle.Singleton ? describe(token) : singleton
  for (const dependency of dependenciesOf(token, registration)) refuseCaptured(dependency, holder, chain)
}

function dependenciesOf(token: unknown, registration: Registration | undefined): unknown[] {
  const provider = registration?.provider
  if (provider?.useToken !== undefined) return [provider.useToken]
  const target = provider?.useClass ?? token
  if (typeof target !== 'function') return []
  const tokens = injectedTokens(target)
  return constructorParameters(target).map((type, position) => tokenOf(tokens[position] ?? type))
}

/** `@inject('token')` is stored as a description of the token. A plain type is its own token. */
function tokenOf(parameter: unknown): unknown {
  return typeof parameter === 'object' && parameter !== null && 'token' in parameter
    ? parameter.token
    : parameter
}

interface Registration {
  provider: { useClass?: unknown; useToken?: unknown }
  options: { lifecycle: Lifecycle }
}

/** tsyringe has no public API for the registration of a token, so its registry is read. */
function registrationOf(token: unknown): Registration | undefined {
  const internals = container as DependencyContainer & {
    _registry?: { _registryMap?: Map<unknown, Registration[]> }
  }
  return internals._registry?._registryMap?.get(token)?.at(-1)
}

function describe(token: unknown): string {
  return typeof token === 'function' ? token.name : String(token)
}
