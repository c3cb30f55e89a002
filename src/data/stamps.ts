import { EventSubscriber } from 'typeorm'
import type { EntitySubscriberInterface, InsertEvent, UpdateEvent } from 'typeorm'
import { Model, stampInsert } from './model.js'
import type { Stamps } from './model.js'

/**
 * Gives ids and dates to rows that are written without a record, by `tx.insert(Post, { ... })` and
 * `tx.update(Post, where, { ... })`: the listeners of a model only hear of records.
 */
@EventSubscriber()
export class StampsSubscriber implements EntitySubscriberInterface<Stamps> {
  listenTo(): typeof Model {
    return Model
  }

  beforeInsert(event: InsertEvent<Stamps>): void {
    stampInsert(event.entity)
  }

  beforeUpdate(event: UpdateEvent<Stamps>): void {
    if (event.entity && !(event.entity instanceof Model)) event.entity['updated_at'] ??= new Date()
  }
}
