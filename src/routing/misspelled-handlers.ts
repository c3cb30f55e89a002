import { isOneLetterOff } from '../naming/spelling.js'
import { decorationsOf } from '../resources/decorations.js'
import { BaseResource, type ResourceClass } from '../resources/resource.js'
import { actionsOf, isImplemented } from '../resources/scanner.js'

/** Warns about each method whose name differs by one letter from a handler that the class does not implement. */
export function misspelledHandlers(resources: Iterable<ResourceClass>): string[] {
  return [...resources].flatMap((resource) => {
    const { methods: decorated } = decorationsOf(resource.prototype)
    const methods = methodsOf(resource).filter((method) => !decorated.has(method))
    return actionsOf(resource)
      .filter((action) => !isImplemented(resource, action))
      .flatMap(({ handler }) =>
        methods
          .filter((method) => isOneLetterOff(method, handler))
          .map((method) => warning(resource.name, handler, method)),
      )
  })
}

/** The methods of a class and of its superclasses up to `BaseResource`. */
function methodsOf(resource: ResourceClass): string[] {
  const methods: string[] = []
  let prototype: object = resource.prototype
  while (prototype !== BaseResource.prototype && prototype !== Object.prototype) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (typeof value === 'function') methods.push(name)
    }
    prototype = Object.getPrototypeOf(prototype)
  }
  return methods
}

function warning(resource: string, handler: string, method: string): string {
  return (
    `${resource} has a method "${method}", but no handler "${handler}". ` +
    `If "${method}" is a misspelling, rename it, because no route calls it.`
  )
}
