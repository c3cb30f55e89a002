import type { Model } from '../../models/model.js'
import { abilityOf } from '../../policies/members.js'
import type { Client } from '../client.js'
import { peopleFor } from '../policies.js'

/** Ends a test: the policy allows to nobody what it calls, and the handler has refused it. */
export class Refused extends Error {}

/** The lowest role that a policy allows a handler, and the highest to which it does not. */
interface Actor {
  allowed?: Client
  refused?: Client
}

/** The records about which policies decide. */
interface Decided {
  /** The parent whose policy decides for the record: a user who may update the parent may call all handlers. */
  parent: Model | undefined
  saved: Model
  fresh: Model
}

/** The users who call the handlers of a resource, by its policy, so that a spec stays right when the policy is edited. */
export class Actors {
  private readonly actors = new Map<string, Actor>()
  private readonly clients = new Map<string, Client>()

  private constructor(private readonly client: Client) {}

  /** Signs the roles in that call some handlers. */
  static async find(client: Client, handlers: readonly string[], records: Decided): Promise<Actors> {
    const found = new Actors(client)
    const { parent, saved, fresh } = records
    const all = ['new', 'create', 'import', 'edit', 'update', 'destroy', 'restore', 'purge', ...handlers]
    for (const handler of new Set(all)) {
      // An import calls `create` for each line. A route may have the same name.
      const ability = handler === 'import' && !handlers.includes(handler) ? 'create' : abilityOf(handler)
      const record = ability === 'create' ? fresh : saved
      found.actors.set(handler, await found.actorFor(parent ? 'update' : ability, parent ?? record))
    }
    return found
  }

  /** Returns the users who call a handler, or undefined for a handler about which no policy decides. */
  of(handler: string): Actor | undefined {
    return this.actors.get(handler)
  }

  private async actorFor(ability: string, record: Model): Promise<Actor> {
    const actor: Actor = {}
    for await (const { role, isAllowed, make } of peopleFor(this.client, ability, record)) {
      if (role === undefined) break
      const client = this.clients.get(role) ?? this.client.another()
      if (!this.clients.has(role)) await client.helper('signIn')(client, await make())
      this.clients.set(role, client)
      if (!isAllowed) actor.refused = client
      else actor.allowed ??= client
    }
    return actor
  }
}
