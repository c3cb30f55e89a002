import 'reflect-metadata'
import { Lifecycle, type DependencyContainer, type InjectionToken } from 'tsyringe'
import { dependencyTokens, hasLifecycle, inheritRegistrations, registrationsOf } from './dependencies.js'

/** A token, and the value that replaces its registration: `[Mailer, fakeMailer]`. */
export type Replacement = readonly [token: InjectionToken, value: unknown]

/**
 * Creates a child container in which values replace dependencies. It creates its own instance of each singleton that
 * depends on one of them, directly or indirectly, because the parent's instance holds the original dependency.
 */
export function withReplacements(
  parent: DependencyContainer,
  replacements: readonly Replacement[],
): DependencyContainer {
  const container = parent.createChildContainer()
  const replaced = new Set<unknown>(replacements.map(([token]) => token))
  const dependsOnReplaced = (token: unknown): boolean =>
    [...dependencyTokens(parent, token)].some((one) => replaced.has(one))
  inheritRegistrations(
    container,
    (token) => hasLifecycle(parent, token, Lifecycle.Singleton) && dependsOnReplaced(token),
  )
  for (const [token, useValue] of replacements) {
    // `container.register` would add the value to an inherited registration instead of replacing it.
    registrationsOf(container).set(token, [
      { provider: { useValue }, options: { lifecycle: Lifecycle.Transient } },
    ])
  }
  return container
}
