import type { Model } from '../models/model.js'
import type { PathArgument } from './path.js'

/**
 * The names of the application's routes, each with the parameters of its path. `kit build` and `kit dev`
 * write them to `.kit/routes.d.ts`. Without this file, any string compiles as a name.
 */
// The application's `.kit/routes.d.ts` adds the members.
// oxlint-disable-next-line no-empty-interface, no-empty-object-type
export interface Paths {}

/** The name of a route. A base class that computes a name writes `name as PathName`. */
export type PathName = [keyof Paths] extends [never] ? string : { [Name in keyof Paths]: Name }[keyof Paths]

/** The arguments of `ctx.pathFor` that follow a name. */
export type PathArguments<Name> = Name extends keyof Paths ? ArgumentsFor<Paths[Name]> : PathArgument[]

declare const pathParams: unique symbol

/** The parameters of a request's path, by name. The mark tells them from objects that may lack one. */
export interface PathParams extends Record<string, string> {
  readonly [pathParams]: true
}

type Value = string | number | bigint

type Query = { readonly [name: string]: unknown }

/** Values and records in the order of the parameters, an object of parameters and query, or `ctx.params`. */
type ArgumentsFor<Params> = Params extends readonly string[]
  ?
      | [...positions: Positions<Params>, query?: Query]
      | [named: ByName<Params>]
      | [params: PathParams, query?: Query]
  : PathArgument[]

type ByName<Params extends readonly string[]> = Query & { readonly [Name in Params[number]]: Value | Model }

/**
 * A value or a record for each parameter. The first parameters can be omitted, if the first argument is a
 * record that has them as attributes: a comment with `post_id`. `Keys` are the omitted parameters.
 */
type Positions<Params, Keys extends string = never> = Params extends readonly [
  infer Own extends string,
  ...infer Rest extends readonly string[],
]
  ? [First<Keys>, ...Each<Rest>] | (Rest extends readonly [] ? never : Positions<Rest, Keys | Own>)
  : []

type First<Keys extends string> = [Keys] extends [never] ? Value | Model : Model & Record<Keys, Value>

type Each<Params extends readonly string[]> = { [Index in keyof Params]: Value | Model }
