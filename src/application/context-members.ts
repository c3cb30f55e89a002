import type Koa from 'koa'
import { DeclarationError } from '../errors.js'
import { dataMembers } from '../records/members.js'
import { httpMembers } from '../http/members.js'
import type { FormatName } from '../http/formats/formats.js'
import { loggingMembers } from '../logging/members.js'
import { manyMembers } from '../many/members.js'
import { policyMembers } from '../policies/members.js'
import type { PolicyClass } from '../policies/policy.js'
import { routingMembers } from '../routing/members.js'
import type { RouteTable } from '../routing/route-table.js'
import { sessionMembers } from '../sessions/members.js'
import { translationMembers } from '../translations/members.js'
import { pageMembers } from '../views/members.js'
import type { Pages } from '../views/pages.js'

/** The services that the members of an application's contexts use. */
export interface ContextServices {
  table: RouteTable
  pages: Pages
  env: string
  defaultFormat: FormatName
  timeZone: string
  /** The policy of each model that has one. */
  policies: ReadonlyMap<Function, PolicyClass>
}

/** Adds the members of each folder of the framework to the context that handlers receive. */
export function extendContext(context: Koa['context'], services: ContextServices): void {
  const { table, pages, env, defaultFormat, policies, timeZone } = services
  const membersByFolder = [
    { env },
    routingMembers(table),
    httpMembers(defaultFormat),
    dataMembers,
    policyMembers(policies),
    sessionMembers(),
    translationMembers(timeZone),
    loggingMembers,
    manyMembers,
    pageMembers(pages),
  ]
  for (const members of membersByFolder)
    Object.defineProperties(context, Object.getOwnPropertyDescriptors(members))
}

/**
 * Adds the members that a middleware declares to the context.
 *
 * @param middleware the name of the middleware, for messages
 * @throws DeclarationError when the context has a member of this name
 */
export function addMembers(
  context: Koa['context'],
  members: PropertyDescriptorMap,
  middleware: string,
): void {
  const taken = Object.keys(members).find((name) => name in context)
  if (taken !== undefined) {
    throw new DeclarationError(
      `${middleware}() adds ctx.${taken}, which the context already has. Choose another name for the member.`,
    )
  }
  Object.defineProperties(context, members)
}
