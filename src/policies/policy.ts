import type { Model } from '../models/model.js'
import type { Where } from '../records/conditions.js'

/** The type of `nothing`: a class, because TypeScript would widen a returned symbol. */
export class Nothing {
  readonly isNothing = true
}

/** The scope of a user who may see no record. */
export const nothing: Nothing = new Nothing()

/** The conditions of what a user may see: `{ user_id: user.id }`, several alternatives, or `nothing`. */
export type PolicyScope<T> = Where<T> | Where<T>[] | Nothing

/**
 * Says which records of a model a user may see, and what the user may do with them. Each ability is a method
 * that gets the user, the record and the transaction of the request, and returns whether it is allowed:
 * `create`, `update`, `destroy`, or the name of a method with `@Route`. An ability without a method is not
 * allowed. An ability that queries uses this transaction, because each other connection could wait for the
 * connections of requests that wait for it.
 *
 * @example
 * export class NotePolicy extends Policy<Note> {
 *   scope(user?: User) {
 *     return user ? { user_id: user.id } : nothing
 *   }
 *   create(user: User | undefined) {
 *     return user !== undefined
 *   }
 *   update(user: User | undefined, note: Note) {
 *     return note.user_id === user?.id
 *   }
 * }
 *
 * \@Resource('/notes', { model: Note, policy: NotePolicy })
 * export class NotesResource extends BaseResource {}
 */
export abstract class Policy<T extends Model> {
  /**
   * The records that a user may see. Everybody sees all of them if it returns `{}`.
   *
   * @param model the class of the records, for a policy that serves several models
   */
  // The application has its own class of users.
  // oxlint-disable-next-line no-explicit-any
  abstract scope(user: any, model?: Function): PolicyScope<T>
}

/** A class of policies. One instance serves all requests. */
export interface PolicyClass {
  // The policy of any model.
  // oxlint-disable-next-line no-explicit-any
  new (): Policy<any>
  /**
   * Checks at the start whether the policy can serve a route.
   *
   * @throws DeclarationError when it cannot
   */
  checkRoute?(route: { middleware: readonly Function[]; handlerName: string }, model: Function): void
}

/** The policy of a model, as a resource declares it. */
export interface DeclaredPolicy {
  model: Function
  policy: PolicyClass
}
