import { EventSubscriber } from 'typeorm'
import type { EntitySubscriberInterface, InsertEvent, LoadEvent, UpdateEvent } from 'typeorm'
import { markLoaded } from './records/loaded-values.js'
import { Model, stampInsert } from './model.js'
import type { Stamps } from './model.js'

/** Applies the framework's rules to every model. It is the first subscriber of a database. */
@EventSubscriber()
export class ModelSubscriber implements EntitySubscriberInterface<Stamps> {
  listenTo(): typeof Model {
    return Model
  }

  /**
   * Sets ids and timestamps of rows that are written without a record, by `tx.insert(Post, { ... })` and
   * `tx.update(Post, where, { ... })`. TypeORM calls the listeners of a model only for records.
   */
  beforeInsert(event: InsertEvent<Stamps>): void {
    stampInsert(event.entity)
  }

  beforeUpdate(event: UpdateEvent<Stamps>): void {
    if (event.entity && !(event.entity instanceof Model)) event.entity['updated_at'] ??= new Date()
  }

  /** Relations that TypeORM has loaded with a record are not written with it, just as those of `ctx.load`. */
  afterLoad(record: Stamps, event?: LoadEvent<Stamps>): void {
    for (const { propertyName, isLazy } of event?.metadata.relations ?? [])
      if (!isLazy && Reflect.get(record, propertyName) !== undefined) markLoaded(record, propertyName)
  }
}
