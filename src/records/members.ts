import { environmentOf } from '../common/environment.js'
import { noteBeginning } from '../database/engines/own-waits.js'
import type { Logger } from 'pino'
import type { EntityManager, EntityTarget, FindOptionsOrder } from 'typeorm'
import { LockWhileReading, NoTransaction, RecordNotFound, ValidationErrors } from '../errors.js'
import { rejectBeforeBody } from '../common/before-body.js'
import { SAFE_METHODS } from '../common/methods.js'
import { markTranslated, translateAdded } from '../models/validation/added-errors.js'
import { nestedListsOf, type Attribute } from '../models/attributes/attributes.js'
import type { FileProblem } from '../models/attributes/file-attributes.js'
import { nestedAttributesOf } from '../models/attributes/plain-attributes.js'
import { findChoices, type Choices } from './lists/choices.js'
import { conditionsFor, conditionsInPath, type PathRequest } from './lists/inside.js'
import type { Where } from './conditions.js'
import { loadRelations, type RelationOf } from './relations.js'
import type { FindRecordOptions, TrashOptions } from './locking.js'
import type { Model } from '../models/model.js'
import { paginateRequest, type ListRequest } from './lists/request.js'
import type { Page, PageOptions, Pagination } from './lists/pagination.js'
import { findRecord, findRecordBy, findRecords } from './find.js'
import { joinErrors } from './participants.js'
import { destroyRecord, isSaved, restoreRecord, saveRecord } from './save.js'
import { isTrashed, requirePlace, requireTrash } from './trash.js'
import { conditionsOf, placeOf } from '../models/record-state.js'
import { createStaleErrors } from './stale.js'
import { enclosuresOf } from './within.js'
import type { RecordWork } from './work.js'
import type { LazyTransaction } from '../database/transactions/lazy-transaction.js'
import { transactionOf } from '../database/transactions/request-transaction.js'
import { attributeName, messageOf, validate } from '../models/validation/validation.js'

declare module '../context.js' {
  interface ContextMembers extends DataMembers {}
}

/** The methods and properties of the context that work with the request's transaction and its records. */
export interface DataMembers {
  /**
   * The request's transaction, as a TypeORM EntityManager. It begins with its first query.
   *
   * @throws NoTransaction when no `transaction()` middleware was declared before the route
   */
  readonly tx: EntityManager

  /** Runs `work` after the request's transaction is committed. It does not run after a rollback. */
  afterCommit(work: () => unknown): void

  /**
   * Finds the record of a model by its id.
   *
   * @example await ctx.find(Post, ctx.params.post_id)
   * @throws RecordNotFound (404) if there is none, or if the id is not text or not a UUID
   * @throws LockWhileReading if `lock` is true in a request that only reads
   */
  find<T extends Model>(
    model: EntityTarget<T>,
    id: string | null | undefined,
    options?: FindRecordOptions,
  ): Promise<T>

  /**
   * Finds one record of a model by the values of its columns.
   *
   * @example await ctx.findOneBy(Comment, { id: ctx.params.comment_id, post_id: ctx.params.post_id })
   * @throws RecordNotFound (404) if no record has these values, or if `conditions` is empty
   * @throws LockWhileReading if `lock` is true in a request that only reads
   */
  findOneBy<T extends Model>(
    model: EntityTarget<T>,
    conditions: Where<T>,
    options?: FindRecordOptions,
  ): Promise<T>

  /**
   * Finds all records of a model that meet conditions, for example to choose from in a form. Use `paginate`
   * for lists that grow.
   *
   * @example await ctx.findAll(Author, { order: { name: 'ASC' } })
   */
  findAll<T extends Model>(model: EntityTarget<T>, options?: FindAllOptions<T>): Promise<T[]>

  /**
   * Reads one page of records, newest first. The query parameters `page` and `per_page` select the page. Sets
   * the headers `Link` and `X-Total-Count`. If the handler has `@Queryable`, clients filter, sort and search
   * the list.
   *
   * An HTML page shows the errors of a query: the status is 400, and the list is empty.
   *
   * @throws ValidationErrors (400) when a client of JSON or XML sends a query that the list does not allow
   */
  paginate<T extends Model>(model: EntityTarget<T>, options?: PageOptions<T>): Promise<Page<T>>

  /**
   * Loads relations of a record or a list of records, with one query for each relation: `posts: await
   * ctx.load(posts, 'author')`. JSON and XML contain the loaded relations, so load them where a page is
   * rendered.
   *
   * Saving a record does not write a loaded relation, unless it has been changed.
   *
   * @returns the records
   * @throws UnknownRelation if the model has no such relation
   */
  load<R extends Model | readonly Model[]>(records: R, ...relations: RelationOf<R>[]): Promise<R>

  /**
   * Reads the records that a form offers to choose from. If there are more than 1,000, only the selected
   * records are read, and the form has a text field for the id.
   *
   * Below a parent whose model is in `@Within`, or whose resource is the `@Parent`, these are the records in
   * the parents of the path. A selected id of another record is the choice "Not available" of the form,
   * without its name.
   *
   * @param selected the ids that the form shows as chosen, or lists of them, and `{ for: record }` for the
   *   records to which this record can refer, whatever the path is
   * @example const posts = await ctx.choices(Post, comment.post_id)
   */
  choices<T extends Model>(
    model: EntityTarget<T>,
    ...selected: readonly (string | null | undefined | readonly string[] | { for: Model })[]
  ): Promise<Choices<T>>

  /** Validates a record without saving it. */
  validate(record: object): Promise<ValidationErrors | undefined>

  /**
   * Validates a record, and inserts or updates it if it is valid. A violated constraint of the database also
   * becomes an error of its field.
   *
   * A record whose model has a version is only updated if it has the version that was read, and if the
   * request contains no other version. Otherwise the errors have the status 409 and the rule `stale`.
   *
   * A reference to a record that does not exist, or that is in another parent than the record (`@Within`), is
   * the error `reference`. A record stays in its parent, unless you set `move`.
   *
   * @returns the errors, or undefined if the record was saved
   * @throws PreconditionFailed (412), PreconditionRequired (428) because of `If-Match`, `If-None-Match` and
   *   `requireMatch`
   * @throws VersionConflict (503, or retried) when another request was faster
   */
  save(record: Model, options?: SaveOptions): Promise<ValidationErrors | undefined>

  /**
   * Deletes a record. A record of a model with `@DeleteDateColumn` is moved to the trash instead, unless
   * `trash` is false. The object keeps its id, so that the response can show it.
   *
   * @throws RecordNotFound (404) when another request has moved the record
   * @throws DeclarationError when the record is in the trash, and `trash` is not false
   * @throws ValidationErrors (409) when another record refers to it, or when the request contains another
   *   version; (422) when the reason is too long
   * @throws PreconditionFailed, PreconditionRequired, VersionConflict as `save` does
   */
  destroy(record: Model, options?: DestroyOptions): Promise<void>

  /**
   * Moves a record from the trash back, which was found with `trashed: true`. Neither the rules nor the hooks
   * of its model are called.
   *
   * @returns the errors (409) if a unique value is taken meanwhile, or if the request contains another
   *   version; (422) if the reason is too long; undefined if the record was restored
   * @throws RecordNotFound (404) when another request has moved the record
   * @throws DeclarationError when the record was not found in the trash
   * @throws PreconditionFailed, PreconditionRequired, VersionConflict as `save` does
   */
  restore(record: Model, options?: WriteReason): Promise<ValidationErrors | undefined>

  /**
   * Translates the errors that a handler has added. `respond` calls it.
   *
   * @internal
   */
  translateErrors(errors: ValidationErrors): void
}

/** The options of `ctx.restore`. */
export interface WriteReason {
  /** Why the record is written, for what takes part in its writes: a text of at most 500 characters. */
  reason?: string | undefined
}

/** The options of `ctx.destroy`. */
export interface DestroyOptions extends WriteReason {
  /** Whether a record of a model with `@DeleteDateColumn` is moved to the trash (yes), or deleted. */
  trash?: boolean | undefined
}

/** The options of `ctx.save`. */
export interface SaveOptions extends WriteReason {
  /**
   * Whether the record may move to another parent: the key of a relation in `@Within` may change. The policy
   * is asked for `update` where the record was, and for `create` where it will be. All its references are
   * checked, and the errors have the status 409 while a record is in it, or refers to it from the old parent.
   */
  move?: boolean
}

/** The options of `ctx.findAll`. */
export interface FindAllOptions<T> extends TrashOptions {
  where?: Where<T> | Where<T>[]
  order?: FindOptionsOrder<T>
}

/** The parts of the context that these methods use. */
interface DataRequest extends ListRequest, PathRequest, Omit<RecordWork, 'tx' | 'foundInPath'> {
  readonly env: string
  readonly method: string
  /** The type of the body, if it is one of some types. A job has none. */
  is?(...types: string[]): unknown
  readonly locale: string
  readonly log: Pick<Logger, 'warn'>
  status: number
  set(header: string, value: string): void
  setPageHeaders(pagination: Pagination): void
  /** The fields of a record whose values could not be converted. */
  unreadable(record: object): readonly {
    attribute: Attribute
    value: unknown
    problem?: FileProblem
    refusal?: { rule: string; own: string; values: Record<string, unknown> }
  }[]
  /** The attributes of a record that the request has set, with the values that they had before. */
  bound(record: object): ReadonlyMap<string, unknown>
  /** The fields whose files are too large. */
  reportRejectedFiles(): { fields: readonly string[]; max: string } | undefined
  compareVersion(record: object, attempt: object, conditions?: object): RecordWork['comparison']
  noteWrite(record: Model, ability: 'create' | 'update' | 'destroy' | 'restore' | 'purge'): Promise<void>
  noteMove(record: Model, before: Model): Promise<void>
  noteFound(record: Model): void
}

export const dataMembers: DataMembers & ThisType<DataMembers & DataRequest> = {
  get tx() {
    return transactionFor(this).manager
  },

  afterCommit(work) {
    transactionFor(this).hooks.push(work)
  },

  find(model, id, options) {
    return inTransaction(this, (work) => {
      rejectLockWhileReading(this, options)
      rejectUndefined(this, work, model, { id })
      return noted(this, findRecord(work, model, id, options))
    })
  },

  findOneBy(model, conditions, options) {
    return inTransaction(this, (work) => {
      rejectLockWhileReading(this, options)
      rejectUndefined(this, work, model, conditions)
      return noted(this, findRecordBy(work, model, conditions, options))
    })
  },

  findAll(model, options = {}) {
    return inTransaction(this, (work) => findRecords(work, model, options))
  },

  paginate(model, options = {}) {
    return inTransaction(this, async (work) => {
      const page = await paginateRequest(work, model, options, this).catch((error: unknown) => {
        throw error instanceof ValidationErrors ? setLanguage(this, error) : error
      })
      if (page.query.errors) this.status = 400
      else this.setPageHeaders(page.pagination)
      return page
    })
  },

  load<R extends Model | readonly Model[]>(records: R, ...relations: string[]): Promise<R> {
    const list: Model[] = [records].flat()
    return inTransaction(this, async (work) => {
      await loadRelations(work, list, relations)
      return records
    })
  },

  choices(model, ...selected) {
    const forms = selected.filter((item) => typeof item === 'object' && item !== null && 'for' in item)
    const ids = selected.filter((item) => typeof item !== 'object' || item === null || Array.isArray(item))
    return inTransaction(this, async (work) => {
      const metadata = work.tx.dataSource.getMetadata(model)
      const [form] = forms
      const where = form
        ? await conditionsFor(work, metadata, form.for)
        : await conditionsInPath(work, metadata, this)
      return findChoices(work, model, ids.flat(), where)
    })
  },

  async validate(record) {
    return setLanguage(this, await validate(record, this.translate, unreadErrors(this, record)))
  },

  save(record, { move: moves = false, reason } = {}) {
    if (asksForRows(this, record)) return Promise.resolve(new ValidationErrors())
    return inTransaction(this, async (work) => {
      const isNew = !isSaved(record)
      const { dataSource } = work.tx
      const canMove = moves && !isNew && enclosuresOf(dataSource.getMetadata(record.constructor)).length > 0
      const move = canMove ? (before: Model) => this.noteMove(record, before) : undefined
      if (!move) await this.noteWrite(record, isNew ? 'create' : 'update')
      if (!isNew) work.comparison = this.compareVersion(record, work.tx, conditionsOf(record))
      if (work.comparison === 'stale') {
        const stale = await createStaleErrors(work, record, this.bound(record), this.unreadable(record))
        return setLanguage(this, stale)
      }
      const options = { bound: this.bound(record), move, reason }
      const unread = joinErrors(unreadErrors(this, record), reasonErrors(this, record, reason))
      const errors = await saveRecord(work, record, unread, options)
      adviseMove(this, record, errors)
      return setLanguage(this, errors)
    })
  },

  destroy(record, { reason, trash } = {}) {
    return inTransaction(this, async (work) => {
      const metadata = work.tx.dataSource.getMetadata(record.constructor)
      if (trash !== false) requirePlace(metadata, record, false)
      await this.noteWrite(record, isTrashed(metadata, record) ? 'purge' : 'destroy')
      work.comparison = this.compareVersion(record, work.tx, conditionsOf(record))
      if (work.comparison === 'stale') throw setLanguage(this, await createStaleErrors(work, record))
      const errors = reasonErrors(this, record, reason)
      if (errors) throw setLanguage(this, errors)
      await destroyRecord(work, record, { reason, trash })
    })
  },

  restore(record, { reason } = {}) {
    return inTransaction(this, async (work) => {
      const metadata = work.tx.dataSource.getMetadata(record.constructor)
      requireTrash(metadata, 'ctx.restore')
      requirePlace(metadata, record, true)
      await this.noteWrite(record, 'restore')
      work.comparison = this.compareVersion(record, work.tx, conditionsOf(record))
      if (work.comparison === 'stale') return setLanguage(this, await createStaleErrors(work, record))
      const wrong = reasonErrors(this, record, reason)
      return setLanguage(this, wrong ?? (await restoreRecord(work, record, reason)))
    })
  },

  translateErrors(errors) {
    translateAdded(errors, this.route?.resource?.model, this.translate)
    setLanguage(this, errors)
  },
}

/** Notes a record that may be one of those in the path. */
function noted<T extends Model>(ctx: DataRequest, finding: Promise<T>): Promise<T> {
  if (!ctx.route?.parents?.length) return finding
  return finding.then((record) => {
    ctx.noteFound(record)
    return record
  })
}

/** In development, explains how a record is moved. */
function adviseMove({ env, log }: DataRequest, { constructor }: Model, errors?: ValidationErrors): void {
  const [key] = [...(errors?.fields ?? [])].find(([, [violation]]) => violation?.rule === 'fixed') ?? []
  if (key === undefined || env !== 'development') return
  log.warn(
    `${key} of a saved ${constructor.name} was changed, but a ${constructor.name} stays where it is. ` +
      'To move it, call ctx.save(record, { move: true }).',
  )
}

/** Runs work in the request's transaction, which cannot be committed before the work has ended. */
export function inTransaction<T>(ctx: DataRequest, run: (work: RecordWork) => Promise<T>): Promise<T> {
  const transaction = transactionFor(ctx)
  return transaction.work.run(() => run(new RequestWork(transaction.manager, ctx)))
}

/** The work of a request in one transaction. The next attempt of a request has another. */
class RequestWork implements RecordWork {
  constructor(
    readonly tx: EntityManager,
    private readonly ctx: DataRequest,
  ) {}

  get request() {
    return this.ctx
  }

  get translate() {
    return this.ctx.translate
  }

  get pathKeys() {
    return this.ctx.pathKeys
  }

  scopeFor(model: Function | string, where?: object) {
    return this.ctx.scopeFor(model, where)
  }

  foundInPath(model: Function | string): readonly string[] {
    return typeof model === 'function' ? this.ctx.foundInPath(model) : []
  }

  bound(record: object) {
    return this.ctx.bound(record)
  }
}

function transactionFor(ctx: object): LazyTransaction {
  const transaction = transactionOf(ctx)
  if (!transaction) {
    rejectBeforeBody(ctx, 'ctx.tx')
    throw new NoTransaction(environmentOf(ctx) === 'development')
  }
  noteBeginning(transaction)
  return transaction
}

/**
 * The errors of the fields whose values could not be converted, also of those of the objects in a record
 * (`lines.1.quantity`), and of files that are too large.
 */
function unreadErrors(ctx: DataRequest, record: object): ValidationErrors | undefined {
  const unread = unreadFields(ctx, record)
  const files = ctx.bound(record).size > 0 ? ctx.reportRejectedFiles() : undefined
  if (unread.length === 0 && !files) return undefined
  const errors = new ValidationErrors()
  for (const field of files?.fields ?? [])
    addError(ctx, errors, { ...tooLarge, owner: record, field, values: { max: files?.max } })
  for (const { owner, prefix, attribute, value, problem, refusal } of unread) {
    if (refusal) {
      const { rule, own, values } = refusal
      const message = messageOf(owner.constructor, attribute.name, rule, values, { own }, ctx.translate)
      errors.add(`${prefix}${attribute.name}`.replace(/\.$/, ''), rule, message, values)
      continue
    }
    if (problem) {
      addError(ctx, errors, { values: {}, ...problem, owner, prefix, field: attribute.name })
      continue
    }
    const { isList, nested, kind, name } = attribute
    const isBlank = !isList && (value === null || (typeof value === 'string' && value.trim() === ''))
    const type = isList ? 'list' : nested ? 'object' : kind
    const rule = isBlank ? 'present' : `type.${type}`
    const reason = isBlank ? 'cannot be blank' : `is not a ${type}`
    addError(ctx, errors, { owner, prefix, field: name, rule, reason, values: { values: attribute.values } })
  }
  return errors
}

/** Whether a form was sent by its button "Add a line", to be shown again without being saved. */
function asksForRows(ctx: DataRequest, { constructor }: Model): boolean {
  const lists = nestedListsOf(constructor)
  if (lists.length === 0 || !ctx.query || !ctx.is?.('urlencoded', 'multipart')) return false
  const asked: unknown = Reflect.get(ctx.query, 'rows')
  return lists.some(({ name }) => name === asked)
}

/** The maximum number of characters of a reason. */
const maxReason = 500

/** The error of a reason that is too long, or not text. It can be what a client has sent. */
function reasonErrors(ctx: DataRequest, owner: Model, reason: unknown): ValidationErrors | undefined {
  const isText = typeof reason === 'string'
  if (reason === undefined || (isText && [...reason].length <= maxReason)) return undefined
  const refusal = isText
    ? { rule: 'maxLength', reason: 'is too long', values: { max: maxReason } }
    : { rule: 'type.text', reason: 'is not a text', values: {} }
  const errors = new ValidationErrors()
  addError(ctx, errors, { owner, field: 'reason', ...refusal })
  return errors
}

/** A field that could not be read, the object that it belongs to, and the beginning of its name. */
type Unread = ReturnType<DataRequest['unreadable']>[number] & { owner: object; prefix: string }

function unreadFields(ctx: DataRequest, owner: object, prefix = ''): Unread[] {
  const own = ctx.unreadable(owner).map((field) => ({ ...field, owner, prefix }))
  const inner = nestedAttributesOf(owner.constructor).flatMap(({ name, isList }) => {
    const value: unknown = Reflect.get(owner, name)
    return Object.entries(isList ? Object(value) : { '': value }).flatMap(([index, part]) =>
      typeof part === 'object' && part !== null
        ? unreadFields(ctx, part, `${prefix}${name}.${index && `${placeOf(part, Number(index))}.`}`)
        : [],
    )
  })
  return [...own, ...inner]
}

const tooLarge = { rule: 'file_size', reason: 'is too large' }

/** Why the value of a field was not read. */
interface Refusal extends Pick<Unread, 'owner'> {
  prefix?: string
  field: string
  rule: string
  reason: string
  /** The id of the translation, if it is not that of the rule. */
  text?: string
  values: object
}

function addError({ translate }: DataRequest, errors: ValidationErrors, refusal: Refusal): void {
  const { owner, prefix = '', field, rule, reason, text } = refusal
  const { constructor: model } = owner
  const attribute = attributeName(model, field, translate)
  const values = { attribute, ...refusal.values }
  const own = `${attribute} ${reason}.`
  errors.add(
    prefix + field,
    rule,
    messageOf(model, field, rule, values, { own, given: text && translate?.(text, values) }, translate),
    values,
  )
}

/** @throws LockWhileReading in a request that only reads: on SQLite, it waits for no writer */
function rejectLockWhileReading({ method }: DataRequest, options?: FindRecordOptions): void {
  if (options?.lock && SAFE_METHODS.includes(method)) throw new LockWhileReading(method)
}

/**
 * In development, explains that a value is undefined, most often because the name of a path parameter is
 * misspelled.
 *
 * @throws RecordNotFound (404)
 */
function rejectUndefined(
  { env, params, route }: DataRequest,
  { tx }: RecordWork,
  model: EntityTarget<unknown>,
  conditions: object,
): void {
  if (env !== 'development') return
  const [name] = Object.entries(Object(conditions)).find(([, value]) => value === undefined) ?? []
  if (name === undefined) return
  const parameters = Object.keys(params).join(', ') || 'none'
  const advice = route
    ? ` If it is from ctx.params, the route has no parameter of this name; it has ${parameters}.`
    : ' If it is from the arguments of the job, they lack it.'
  throw new RecordNotFound(
    tx.dataSource.getMetadata(model as EntityTarget<object>).targetName,
    ` "${name}" is undefined.${advice}`,
  )
}

/** Sets the `Content-Language` header to the language of the messages. */
function setLanguage<Errors extends ValidationErrors | undefined>(ctx: DataRequest, errors: Errors): Errors {
  if (!errors) return errors
  ctx.set('Content-Language', ctx.locale)
  markTranslated(errors)
  return errors
}
