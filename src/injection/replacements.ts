import 'reflect-metadata'
import { Lifecycle, type DependencyContainer, type InjectionToken } from 'tsyringe'
import { dependencyTokens, hasLifecycle, inheritRegistrations, registrationsOf } from './dependencies.js'

/** A token, and the value that replaces its registration: `[Mailer, fakeMailer]`. */
export type Replacement = readonly [token: InjectionToken, value: unknown]

/**
 * Creates a child container with values that replace dependencies. A singleton that depends on one of them, directly or
 * not, has an instance of its own there, because that of the parent has the dependency that is replaced.
 */
export function withReplacements(
  parent: DependencyContainer,
  replacements: readonly Replacement[],
): DependencyContainer {
  const container = parent.createChildContainer()
  const replaced = new Set<unknown>(replacements.map(([token]) => token))
  inheritRegistrations(container, (token) => {
    if (!hasLifecycle(parent, token, Lifecycle.Singleton)) return false
    return [...dependencyTokens(parent, token)].some((one) => replaced.has(one))
  })
  for (const [token, useValue] of replacements) {
    registrationsOf(container).set(token, [
      { provider: { useValue }, options: { lifecycle: Lifecycle.Transient } },
    ])
  }
  return container
}
