import { EventSubscriber } from 'typeorm'
import type { DataSource, EntitySubscriberInterface, InsertEvent, LoadEvent, UpdateEvent } from 'typeorm'
import { markLoaded } from './record-state.js'
import { Model, setGeneratedColumns } from './model.js'
import type { GeneratedColumns } from './model.js'

const none: readonly EntitySubscriberInterface[] = []

/** The application's own subscribers. The first is the framework's, which hears no query. */
export function otherSubscribers({ subscribers }: DataSource): readonly EntitySubscriberInterface[] {
  return subscribers.length > 1 ? subscribers.slice(1) : none
}

/** Applies the framework's rules to every model. It is the first subscriber of a database. */
@EventSubscriber()
export class ModelSubscriber implements EntitySubscriberInterface<GeneratedColumns> {
  listenTo(): typeof Model {
    return Model
  }

  /**
   * Sets ids and timestamps of rows that are written without a record, by `tx.insert(Post, { ... })` and
   * `tx.update(Post, where, { ... })`. TypeORM calls the listeners of a model only for records.
   */
  beforeInsert(event: InsertEvent<GeneratedColumns>): void {
    setGeneratedColumns(event.entity)
  }

  beforeUpdate(event: UpdateEvent<GeneratedColumns>): void {
    if (event.entity && !(event.entity instanceof Model)) event.entity['updated_at'] ??= new Date()
  }

  /** Relations that TypeORM has loaded with a record are not written with it, just as those of `ctx.load`. */
  afterLoad(record: GeneratedColumns, event?: LoadEvent<GeneratedColumns>): void {
    // Reading a lazy relation would load it.
    for (const { propertyName } of event?.metadata.relations ?? [])
      if (Reflect.get(record, propertyName) !== undefined) markLoaded(record, propertyName)
  }
}
