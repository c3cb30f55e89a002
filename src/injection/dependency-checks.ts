import 'reflect-metadata'
import { Lifecycle, type DependencyContainer } from 'tsyringe'
import { DeclarationError } from '../errors.js'
import {
  classOf,
  constructorParameters,
  dependenciesOf,
  dependencyChains,
  describe,
  hasLifecycle,
  lastSingleton,
} from './dependencies.js'

/**
 * Checks the dependencies of a class, and their own dependencies, when the application starts.
 *
 * @throws DeclarationError when the class is a singleton, when a dependency is unknown or is not registered, or when a
 *   singleton would keep an object that belongs to one request
 */
export function checkDependencies(container: DependencyContainer, target: Function): void {
  rejectSingleton(container, target)
  for (const chain of dependencyChains(container, target)) {
    const token = chain.at(-1)
    rejectUndecorated(classOf(container, token))
    rejectUnknown(container, token)
    rejectCaptured(container, chain)
  }
}

function rejectSingleton(container: DependencyContainer, target: Function): void {
  if (!hasLifecycle(container, target, Lifecycle.Singleton)) return
  throw new DeclarationError(
    `${target.name} is registered as a singleton, but each request needs its own instance. ` +
      'Replace @singleton() with @injectable(), and keep shared data in another class.',
  )
}

function rejectUndecorated(target: Function | undefined): void {
  if (!target || target.length <= constructorParameters(target).length) return
  throw new DeclarationError(
    `The constructor of ${target.name} has parameters of unknown types. Decorate the class with @Resource if it is a resource, ` +
      'otherwise with @injectable(), and enable "emitDecoratorMetadata" in tsconfig.json.',
  )
}

/** The types that the compiler emits for parameters that are not classes, such as an interface or a string. */
const notInjectable: unknown[] = [Object, Number, String, Boolean, Array, Function, undefined]

function rejectUnknown(container: DependencyContainer, token: unknown): void {
  for (const [index, dependency] of dependenciesOf(container, token).entries()) {
    const parameter = `Parameter ${index + 1} of the constructor of ${describe(token)}`
    if (notInjectable.includes(dependency.token)) {
      throw new DeclarationError(
        `${parameter} isn't a class, so its dependency is unknown. Use a class, or @inject with a token.`,
      )
    }
    if (dependency.isOptional || !isName(dependency.token)) continue
    if (container.isRegistered(dependency.token, true)) continue
    throw new DeclarationError(
      `${parameter} injects "${describe(dependency.token)}", which isn't registered. Register it before the class is used, ` +
        'for example in src/services.ts.',
    )
  }
}

/** Whether a token is a name. A name must be registered; a class need not be. */
function isName(token: unknown): token is string | symbol {
  return typeof token === 'string' || typeof token === 'symbol'
}

/** A singleton outlives a request, so it must not reach an object that is created for each request. */
function rejectCaptured(container: DependencyContainer, chain: readonly unknown[]): void {
  const token = chain.at(-1)
  if (!hasLifecycle(container, token, Lifecycle.ContainerScoped)) return
  const singleton = lastSingleton(container, chain)
  if (singleton === undefined) return
  throw new DeclarationError(
    `The singleton ${describe(singleton)} depends on ${describe(token)}, which is created for each request ` +
      `(${chain.map(describe).join(' -> ')}): it would leak data from one request to the next. ` +
      `Make ${describe(singleton)} scoped, too.`,
  )
}
