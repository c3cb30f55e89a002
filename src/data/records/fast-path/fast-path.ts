import type { EntityManager, EntityMetadata, EntitySubscriberInterface } from 'typeorm'
import type { Model } from '../../model.js'
import { countRecords, selectRecords, type Selection } from './cached-queries.js'
import { plainModel, type PlainModel } from './plain-model.js'
import { plainWrites } from './plain-writes.js'

type Events = readonly (keyof EntitySubscriberInterface)[]

const saving: Events = ['beforeInsert', 'afterInsert', 'beforeUpdate', 'afterUpdate']
const removing: Events = ['beforeRemove', 'afterRemove']

/**
 * Reads and writes the records of plain models with cached statements, because building a query and hydrating its rows
 * costs more than running it. Each method returns undefined or false if TypeORM has to do the work.
 */
export class FastPath {
  constructor(
    private readonly tx: EntityManager,
    private readonly model: PlainModel,
  ) {}

  select(selection: Selection): Promise<object[] | undefined> {
    return selectRecords(this.tx, this.model, selection)
  }

  count(where?: object): Promise<number | undefined> {
    return countRecords(this.tx, this.model, where)
  }

  async save(record: Model, isNew: boolean): Promise<boolean> {
    const writes = isHeard(this.tx, saving) ? undefined : plainWrites(this.model, record)
    // The application may have chosen the id, and a record with it may exist.
    if (!writes || (isNew && record.id !== undefined)) return false
    if (!isNew) return writes.update(this.tx, record)
    await writes.insert(this.tx, record)
    return true
  }

  async remove(record: Model): Promise<boolean> {
    const writes = isHeard(this.tx, removing) ? undefined : plainWrites(this.model, record)
    if (!writes || record.id === undefined) return false
    await writes.remove(this.tx, record)
    return true
  }
}

/** The fast path of a model; undefined if the model isn't plain, or if a subscriber listens to its records. */
export function fastPath(tx: EntityManager, metadata: EntityMetadata): FastPath | undefined {
  const model = plainModel(metadata)
  return model && !isHeard(tx, ['afterLoad']) ? new FastPath(tx, model) : undefined
}

/** Whether a subscriber of the application listens to one of these events, for any model. */
function isHeard({ dataSource: { subscribers } }: EntityManager, events: Events): boolean {
  // The first subscriber is the framework's own.
  if (subscribers.length <= 1) return false
  return subscribers.slice(1).some((subscriber) => events.some((event) => subscriber[event] !== undefined))
}
