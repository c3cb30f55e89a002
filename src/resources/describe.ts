import 'reflect-metadata'
import { DeclarationError } from '../errors.js'
import { actions } from './actions.js'
import { checkMethod, type MethodDecoration } from './decorations.js'
import type { DescriptionOptions } from './route-description.js'
import type { ClassDecoration } from './use.js'

/** The key of the metadata. That of a class has the property name '', and the value `false`. */
const key = Symbol('resource-kit:description')

/**
 * Describes one of the seven handlers in the OpenAPI document of the application. For other handlers,
 * `@Route` has the same options. `@Describe(false)` leaves any handler, or all routes of a class, out of the
 * document.
 *
 * @example
 * \@Resource('/logins', { singular: true })
 * export class LoginsResource extends BaseResource {
 *   \@Describe({ summary: 'Signs in', responses: { 204: 'empty', 401: 'problem' } })
 *   async create(ctx: Context) {
 *     ctx.status = 204
 *   }
 * }
 *
 * @throws DeclarationError when a class or a method that is not one of the seven handlers has options, or
 *   when the member is static or is not a method
 */
export function Describe(description: false): ClassDecoration<never> & MethodDecoration
export function Describe(description: DescriptionOptions): MethodDecoration
export function Describe(description: DescriptionOptions | false) {
  return (target: object, name = '', descriptor?: PropertyDescriptor): void => {
    const subject = name ? checkMethod('@Describe', target, name, descriptor) : (target as Function).name
    if (description && !actions.some(({ handler }) => handler === name)) {
      throw new DeclarationError(
        `${subject} has @Describe with options, which only the seven handlers can have. Pass them to @Route, or write them above a handler.`,
      )
    }
    Reflect.defineMetadata(key, description, name ? target : (target as Function).prototype, name)
  }
}

/** The description of a handler; false if `@Describe(false)` excludes it or its whole class. */
export function descriptionOf(prototype: object, handler: string): DescriptionOptions | false {
  if (Reflect.getMetadata(key, prototype, '') === false) return false
  return Reflect.getMetadata(key, prototype, handler) ?? {}
}
