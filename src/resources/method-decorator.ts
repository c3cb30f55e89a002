import type { Handler } from '../context.js'
import { DeclarationError } from '../errors.js'

/** A decorator of a method that is a handler. */
export type MethodDecoration = <H extends Handler>(
  target: object,
  name: string,
  descriptor: TypedPropertyDescriptor<H>,
) => void

/**
 * Returns a decorated method's name for messages: `PostsResource.publish`.
 *
 * @throws DeclarationError when the decorated member is static or is not a method
 */
export function checkMethod(
  decorator: string,
  target: object,
  name: string,
  descriptor: PropertyDescriptor | undefined,
): string {
  if (typeof target === 'function') {
    throw new DeclarationError(
      `${target.name}.${name} is static, but ${decorator} requires a method of the instances. Remove "static".`,
    )
  }
  const member = `${target.constructor.name}.${name}`
  if (typeof descriptor?.value === 'function') return member
  throw new DeclarationError(
    `${member} is not a method, but ${decorator} requires one. Write it as "${name}(ctx: Context) { ... }".`,
  )
}
