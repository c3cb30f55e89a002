import type { DataSource, EntityMetadata } from 'typeorm'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import type { ValidationErrors } from '../errors.js'
import { memoizeByObject } from '../common/memoize.js'
import type { Model } from '../models/model.js'
import { translateAdded } from '../models/validation/added-errors.js'
import type { StoredRow } from './row.js'
import type { RecordWork } from './work.js'

/** A write of one record by `ctx.save`, `ctx.destroy` or `ctx.restore`, also of a job. */
export interface RecordWrite {
  /** The work of the request or job. `work.tx` is in the savepoint of the write, if there is one. */
  readonly work: RecordWork
  readonly metadata: EntityMetadata
  readonly record: Model
  /** `trash` and `restore` move a record of a model with `@DeleteDateColumn`; `destroy` deletes its row. */
  readonly action: 'create' | 'update' | 'destroy' | 'trash' | 'restore'
  /** Why the record is written: the `reason` of the options. */
  readonly reason?: string | undefined
  /** The row before an update, or before it is deleted, if a participant `needsRow`. The row is locked; undefined if it is missing. */
  readonly row?: StoredRow | undefined
  /** Whether the row of a new record waits to be inserted together with others, because it belongs to an import. */
  readonly isWaiting?: boolean
}

/**
 * Takes part when records of certain models are written or read: their files, their lines, their history. The
 * participants of a model are called in the order in which they were declared.
 *
 * @example
 * ```ts
 * takePart({
 *   concerns: (metadata) => metadata.target === Invoice,
 *   after: async ({ work, record, action }) => void (await work.tx.insert(Entry, { of: record.id, action })),
 * })
 * ```
 */
export interface Participant {
  /** Whether it takes part for the records of a model. It is asked once for each model. */
  concerns(metadata: EntityMetadata): boolean
  /** Whether it needs the row before the write. */
  readonly needsRow?: boolean
  /** Whether its `before` and `after` let the row of a new record wait: they send no statement for it that cannot wait, too. */
  readonly canWait?: boolean
  /** Checks the models of a database when the application starts. */
  checkModels?(database: DataSource): void
  /** Names what the tables of a database lack, for `kit db check`: one sentence each, with a remedy. */
  checkTables?(database: DataSource): Promise<string[]>
  /** Returns errors, which join those of the rules. It is called before the rules and the hook. */
  check?(write: RecordWrite): Promise<ValidationErrors | undefined>
  /**
   * Writes before the row, in the savepoint of the write. A new record has its id. ValidationErrors that it
   * throws are the result of the save.
   */
  before?(write: RecordWrite): Promise<void>
  /** Writes after the row and its lists of ids, in the savepoint of the write, as `before` does. */
  after?(write: RecordWrite): Promise<void>
  /** Whether it writes more, which locks the row and raises its version. Asked before the row is written. */
  changesMore?(write: RecordWrite): Promise<boolean>
  /** Is called when the write was rejected and undone, so that its records do not look saved. */
  undone?(write: RecordWrite): Promise<void>
  /** Whether it writes the records that are assigned to a to-many relation, which are an error otherwise. */
  writes?(relation: RelationMetadata): boolean
  /** Returns a sentence about the last change of a record, for the message of a form that is out of date. */
  explainChange?(work: RecordWork, metadata: EntityMetadata, record: Model): Promise<string | undefined>
  /** Is called with the records that `find`, `findOneBy`, `findAll` or `paginate` has read, if any. */
  loaded?(work: RecordWork, metadata: EntityMetadata, records: readonly Model[]): Promise<void>
}

const participants: Participant[] = []
let participantsFor = createLookup()

/** Lets something take part in the writes and reads of records. Call it when the module is loaded. */
export function takePart(participant: Participant): void {
  participants.push(participant)
  participantsFor = createLookup()
}

function createLookup(): (metadata: EntityMetadata) => readonly Participant[] {
  return memoizeByObject((metadata) => participants.filter((participant) => participant.concerns(metadata)))
}

/** Returns the errors of those that take part in a write, in the language of the request. */
export async function checkParticipants(write: RecordWrite): Promise<ValidationErrors | undefined> {
  let errors: ValidationErrors | undefined
  for (const participant of participantsFor(write.metadata))
    errors = joinErrors(errors, await participant.check?.(write))
  if (errors) translateAdded(errors, write.record.constructor, write.work.translate)
  return errors
}

/** The errors of both, those of one field one after the other. */
export function joinErrors(
  errors: ValidationErrors | undefined,
  others: ValidationErrors | undefined,
): ValidationErrors | undefined {
  if (!errors || !others) return errors ?? others
  for (const [field, violations] of others.fields)
    errors.fields.set(field, [...(errors.fields.get(field) ?? []), ...violations])
  return errors
}

/** Lets all participants check the models of a database. */
export function checkModels(database: DataSource): void {
  for (const participant of participants) participant.checkModels?.(database)
}

/** Finds what the tables of a database lack. */
export async function findTableProblems(database: DataSource): Promise<string[]> {
  const found = await Promise.all(participants.map((participant) => participant.checkTables?.(database)))
  return found.flatMap((problems) => problems ?? [])
}

/** Whether something needs the row of a record before it is written. */
export function needsRow(metadata: EntityMetadata): boolean {
  return participantsFor(metadata).some((participant) => participant.needsRow)
}

/** Whether something writes the records that are assigned to a relation. */
export function writesRelation(relation: RelationMetadata): boolean {
  return participantsFor(relation.entityMetadata).some((participant) => participant.writes?.(relation))
}

/** Whether something writes beside the row of a record. */
export function writesBeside(metadata: EntityMetadata): boolean {
  return participantsFor(metadata).some(({ before, after }) => before !== undefined || after !== undefined)
}

/** Whether the row of a new record can wait, because nothing else needs it at once. */
export function canWait(metadata: EntityMetadata): boolean {
  return participantsFor(metadata).every((one) => one.canWait ?? !(one.before ?? one.after))
}

/** Calls those that take part before the row is written, or after it. */
export async function callParticipants(when: 'before' | 'after', write: RecordWrite): Promise<void> {
  for (const participant of participantsFor(write.metadata)) await participant[when]?.(write)
}

/** Whether one of those that take part changes more than the row. */
export async function changesBeside(write: RecordWrite): Promise<boolean> {
  for (const participant of participantsFor(write.metadata))
    if (await participant.changesMore?.(write)) return true
  return false
}

/** Lets those that take part know that the write was undone. */
export async function noteUndone(write: RecordWrite): Promise<void> {
  for (const participant of participantsFor(write.metadata)) await participant.undone?.(write)
}

/** Whether something takes part in the writes and reads of a model. */
export function isObserved(metadata: EntityMetadata): boolean {
  return participantsFor(metadata).length > 0
}

/** Shows records that have been read to those that take part. */
export async function noteLoaded(
  work: RecordWork,
  metadata: EntityMetadata,
  records: readonly object[],
): Promise<void> {
  if (records.length === 0) return
  // The records are of the model's class.
  for (const participant of participantsFor(metadata))
    await participant.loaded?.(work, metadata, records as readonly Model[])
}

/** Returns the sentences about the last change of a record. */
export async function explainChange(
  work: RecordWork,
  metadata: EntityMetadata,
  record: Model,
): Promise<string[]> {
  const sentences: string[] = []
  for (const participant of participantsFor(metadata)) {
    const sentence = await participant.explainChange?.(work, metadata, record)
    if (sentence !== undefined) sentences.push(sentence)
  }
  return sentences
}
