import { DeclarationError } from '../errors.js'
import { checkMethod, ownDecorations, recordMethod, type MethodDecoration } from './decorations.js'
import type { DescriptionOptions } from './route-description.js'
import type { ClassDecoration } from './use.js'

/**
 * Describes a handler in the OpenAPI document of the application: one of the seven, whose routes are fixed. `@Route` has the same
 * options. `@Describe(false)` leaves a handler, or all routes of a class, out of the document.
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
 * @throws DeclarationError when a class has options, when the member is static or is not a method, or when it is described twice
 */
export function Describe(description: false): ClassDecoration<never> & MethodDecoration
export function Describe(description: DescriptionOptions): MethodDecoration
export function Describe(description: DescriptionOptions | false) {
  return (target: object, name?: string, descriptor?: PropertyDescriptor): void => {
    if (name === undefined) return describeClass(target as Function, description)
    const handler = checkMethod('@Describe', target, name, descriptor)
    recordMethod(target, name, (method) => {
      if (method.description !== undefined)
        throw new DeclarationError(`${handler} has @Describe twice. Merge them into one.`)
      return { description }
    })
  }
}

function describeClass(target: Function, description: DescriptionOptions | false): void {
  if (description !== false) {
    throw new DeclarationError(
      `@Describe of ${target.name} has options, which only a handler can have. Write them above the handler, or @Describe(false) above the class.`,
    )
  }
  ownDecorations(target.prototype).isHidden = true
}
