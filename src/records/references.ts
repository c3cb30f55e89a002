import { In } from 'typeorm'
import type { EntityManager, EntityMetadata, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { ValidationErrors } from '../errors.js'
import { humanize } from '../naming/words.js'
import { unreadable } from '../models/attributes/coerce.js'
import { RECORD } from '../common/record-field.js'
import type { RowLocks } from '../database/engines/engine.js'
import { engineOf } from '../database/engines/engines.js'
import type { Model } from '../models/model.js'
import { readAlternatives, valueReader } from './conditions.js'
import { readLocked, type Row } from './fast-path/fast-path.js'
import { assignmentsOf, checkIds } from './join-writes.js'
import { columnWriter, idListsOf, loadIdLists, targetOf } from './joins.js'
import { lockClause } from './locking.js'
import { isOccupied } from './moves.js'
import { inParts } from './parts.js'
import { assignedIds, loadedElements } from '../models/record-state.js'
import { valueOf } from './row.js'
import { addScope, combineAlternatives, noRecords, scopeOf } from './scope.js'
import { translate } from './violations.js'
import { commonOf, enclosuresOf, membersOf, memoizeWithin, waysOf } from './within.js'
import type { Chain, Common, Enclosure } from './within.js'
import { unscopedWork, type Conditions, type RecordWork } from './work.js'

/** An attribute of a model that refers to other records. */
interface Reference {
  name: string
  target: EntityMetadata
  /** The column to which the values refer, in most cases the id. */
  referred: ColumnMetadata
  common: readonly Common[]
  /** The own column of a reference to one record. */
  key?: ColumnMetadata | undefined
}

/** The values of references to one model, which must meet the same conditions. */
interface Group {
  target: EntityMetadata
  referred: ColumnMetadata
  where: object
  scope: Conditions | undefined
  /** Whether the request must be able to see the records, which then must not be in the trash. */
  isSeen: boolean
  references: { reference: Reference; values: readonly unknown[]; errors: ValidationErrors }[]
}

/** How a record is saved. */
export interface WriteOptions {
  /**
   * The attributes that the request has set, with the values that they had before. The records of those that
   * it has changed must be in the scope of their model, too.
   */
  bound?: ReadonlyMap<string, unknown>
  /** Asks the policies whether the record may move from where it was; undefined if it must stay there. */
  move?: ((before: Model) => Promise<void>) | undefined
  /** Why the record is written, for what takes part in the write. */
  reason?: string | undefined
  /** The record of which it is a line, which may not be stored yet. */
  parent?: Model | undefined
  /** The stored row, if it is known and cannot change. */
  row?: Row | undefined
}

const referencesOf = memoizeWithin((metadata): Reference[] => {
  const ways = waysOf(metadata)
  const keys = metadata.relations.flatMap((relation): Reference[] => {
    const { inverseEntityMetadata: target, joinColumns, isManyToMany } = relation
    const key = isManyToMany ? undefined : joinColumns[0]
    if (!key) return []
    // The key to a record that contains this one leads to no other way than its own.
    const others = ways.filter(({ path }) => path[0]?.relation !== relation)
    const common = commonOf(others, target)
    return [{ name: key.propertyName, target, referred: targetOf(key), common, key }]
  })
  const lists = idListsOf(metadata).map(({ property: name, relation, toRelated }): Reference => {
    const target = relation.inverseEntityMetadata
    return { name, target, referred: targetOf(toRelated), common: commonOf(ways, target) }
  })
  return [...keys, ...lists]
})

/** The references of a record to save. They are checked before its validation, and after the hook. */
export class References {
  private readonly all: readonly Reference[]
  /** Whether the record is in others, or refers to records of which some are wrong for it. */
  private readonly isLimited: boolean
  private readonly moves: boolean
  private hasMoved = false
  /** The keys of the stored record, by the names of their columns. */
  private row: Row | undefined
  /** A record that moves, as it is stored. */
  private stored: Model | undefined
  /** The references that have been checked, with their conditions. */
  private readonly known = new Set<string>()
  private readonly anchors = new Map<string, unknown>()

  constructor(
    private readonly work: RecordWork,
    private readonly metadata: EntityMetadata,
    private readonly record: Model,
    private readonly isNew: boolean,
    private readonly options: WriteOptions = {},
  ) {
    this.all = referencesOf(metadata)
    this.isLimited = enclosuresOf(metadata).length > 0 || this.all.some(({ common }) => common.length > 0)
    this.moves = !isNew && options.move !== undefined
    this.row = options.row
  }

  /**
   * Checks the references that were set since the record was read, and the keys to the records that contain
   * it.
   *
   * @param isLast whether the keys are final. Otherwise the references wait for those that are missing
   */
  async check(isLast: boolean): Promise<ValidationErrors | undefined> {
    const { work, record } = this
    const [errors = new ValidationErrors()] = await checkTogether(work, [this], isLast)
    const wrong = errors.isEmpty && isLast ? await this.checkLast() : errors
    return wrong && !wrong.isEmpty ? translate(wrong, record, work.translate) : undefined
  }

  /** Checks that nothing keeps a record that moves where it was, and that the records of new ids exist. */
  private async checkLast(): Promise<ValidationErrors | undefined> {
    const { work, metadata, record } = this
    if (this.hasMoved && (await isOccupied(work, metadata, record)))
      return new ValidationErrors(409).add(RECORD, 'immovable', IMMOVABLE)
    return checkIds(work.tx, assignmentsOf(metadata, record))
  }

  /** Adds the references to check to the groups. Returns the errors, to which the checks add theirs. */
  async collect(groups: Map<string, Group>, isLast: boolean): Promise<ValidationErrors> {
    const errors = new ValidationErrors()
    if (!this.isLimited && !this.options.bound?.size) return errors
    if (this.isLimited && !this.isNew && !this.row) await this.readStored()
    const moved = enclosuresOf(this.metadata).filter(({ key }) => this.row && this.valuesOf(key).length > 0)
    if (!this.moves) for (const { key } of moved) addError(errors, key.propertyName, 'fixed')
    this.hasMoved = moved.length > 0
    // A record that is not where it was has no reference that could be checked.
    if (errors.isEmpty) await this.findGroups(groups, errors, isLast)
    return errors
  }

  /** Reads the keys of the stored record, and locks its row, so that it stays where it is. */
  private async readStored(): Promise<void> {
    const { metadata, record, work, options } = this
    const keys = metadata.relations.flatMap((relation) => (relation.isManyToMany ? [] : relation.joinColumns))
    const updateLock = engineOf(work.tx.dataSource).rowLocks?.likeUpdate
    const lock = this.moves ? () => lockClause(work.tx) : updateLock
    ;[this.row] = await selectLocked(work.tx, metadata, keys, { id: record.id }, lock)
    if (!this.moves) return
    const before: Model = Object.assign(Object.create(Object.getPrototypeOf(record)), record)
    for (const key of this.row ? keys : [])
      if (!key.isVirtual) Reflect.set(before, key.propertyName, this.row?.[key.databaseName])
    await options.move?.(before)
    await loadIdLists(unscopedWork(work.tx), metadata, [before])
    this.stored = before
  }

  /** The values of a reference that were set since the record was read; of a record that moves, all. */
  private newValues({ key, name }: Reference): unknown[] {
    if (key) return this.moves ? present(valueOf(this.record, key)) : this.valuesOf(key)
    const loaded = loadedElements(this.record, name) ?? []
    const ids = assignedIds(this.record, name)
    if (!this.stored) return ids?.filter((id) => !loaded.includes(id)) ?? []
    // A record that moves takes its ids along, also those that the request cannot see.
    const kept = [Reflect.get(this.stored, name)].flat().filter((id) => !ids || !loaded.includes(id))
    return [...new Set([...(ids ?? []), ...kept])]
  }

  /** Whether the request has set an attribute, and in a stored record to another value than it had. */
  private isBound(name: string): boolean {
    const { bound } = this.options
    if (!bound?.has(name)) return false
    return this.isNew || String(bound.get(name)) !== String(Reflect.get(this.record, name))
  }

  /** The value of a key in a list, which is empty if there is none, or if it is stored. */
  private valuesOf(key: ColumnMetadata): unknown[] {
    return present(valueOf(this.record, key)).filter(
      (value) => !this.row || String(this.row[key.databaseName]) !== String(value),
    )
  }

  /** Groups the references to check by model and conditions, because one statement checks a group. */
  private async findGroups(
    groups: Map<string, Group>,
    errors: ValidationErrors,
    isLast: boolean,
  ): Promise<void> {
    const places = this.moves ? enclosuresOf(this.metadata).map(({ key }) => key.propertyName) : []
    for (const reference of this.all) {
      const { name, target, referred, common } = reference
      const isBound = this.isBound(name) || places.includes(name)
      const values = common.length > 0 || isBound ? this.newValues(reference) : []
      if (values.length === 0) continue
      const { where, missing } = await this.conditionsOf(common)
      if (missing && isLast) this.addMissing(errors, missing, reference)
      if (missing) continue
      const scope = isBound ? scopeOf(this.work, target, where) : undefined
      const isSeen = scope !== undefined || (isBound && target.deleteDateColumn !== undefined)
      const id = JSON.stringify([target.tablePath, referred.propertyName, where, isSeen])
      const isKnown = this.known.has(`${name} ${id} ${String(values)}`)
      if (isKnown || (common.length === 0 && !isSeen)) continue
      this.known.add(`${name} ${id} ${String(values)}`)
      const group = groups.get(id) ?? { target, referred, where, scope, isSeen, references: [] }
      group.references.push({ reference, values, errors })
      groups.set(id, group)
    }
  }

  /** Adds the error of a key without which a reference cannot be checked. */
  private addMissing(errors: ValidationErrors, { own }: Common, reference: Reference): void {
    const [enclosure] = own.path
    const isBlank = enclosure && present(valueOf(this.record, enclosure.key)).length === 0
    if (enclosure) addError(errors, enclosure.key.propertyName, isBlank ? 'present' : 'reference')
    else addError(errors, reference.name, ruleOf(reference))
  }

  /** The conditions of the records to which the record can refer, or what is missing for them. */
  async conditionsOf(common: readonly Common[]): Promise<{ where: object; missing?: Common }> {
    let where: object = {}
    for (const each of common) {
      const anchor = await this.anchorOf(each.own)
      if (anchor === undefined || anchor === null) return { where, missing: each }
      where = combineAlternatives(where, conditionOn(each.theirs, anchor))
    }
    return { where }
  }

  /** Returns the key of the record that contains this one; undefined if a key on the way to it is missing. */
  private async anchorOf(way: Chain): Promise<unknown> {
    const [first, ...others] = way.path
    if (!first) return this.record.id
    const { parent } = this.options
    if (parent && first.relation.inverseEntityMetadata.target === parent.constructor) {
      const { inverseEntityMetadata } = first.relation
      return new References(this.work, inverseEntityMetadata, parent, false).anchorOf({
        ...way,
        path: others,
      })
    }
    const value = valueOf(this.record, first.key) ?? this.row?.[first.key.databaseName]
    if (others.length === 0 || present(value).length === 0) return value
    const id = [value, ...others.map(({ relation }) => relation.propertyName)].join()
    const model = first.relation.inverseEntityMetadata
    const keyLock = engineOf(this.work.tx.dataSource).rowLocks?.likeKey
    if (!this.anchors.has(id))
      this.anchors.set(id, await readAnchor(this.work, model, targetOf(first.key), value, others, keyLock))
    return this.anchors.get(id)
  }
}

/** Checks the references of several records by one statement for each group. Returns the errors of each. */
export async function checkTogether(
  work: RecordWork,
  all: readonly References[],
  isLast: boolean,
): Promise<ValidationErrors[]> {
  const groups = new Map<string, Group>()
  const errors: ValidationErrors[] = []
  for (const references of all) errors.push(await references.collect(groups, isLast))
  for (const group of groups.values()) await checkGroup(work, group)
  return errors
}

async function checkGroup({ tx }: RecordWork, group: Group): Promise<void> {
  const { target, referred, where, scope, isSeen, references } = group
  const read = valueReader(referred)
  const values = references.flatMap((one) => one.values.map(read)).filter((value) => value !== unreadable)
  const lock = Object.keys(where).length > 0 ? engineOf(tx.dataSource).rowLocks?.likeKey : undefined
  const rows = await inParts([...new Set(values)], (part) => {
    const isOne = { [referred.propertyName]: In([...part]) }
    const readable = readAlternatives(target, combineAlternatives(where, isOne)) ?? noRecords
    const conditions = addScope(target, readable, scope)
    return selectLocked(tx, target, [referred], conditions ?? {}, lock, !isSeen)
  })
  const found = new Set(rows.map((row) => String(row[referred.databaseName])))
  for (const { reference, values: own, errors } of references)
    if (!own.every((value) => found.has(String(read(value)))))
      addError(errors, reference.name, ruleOf(reference))
}

function ruleOf({ key }: Reference): 'reference' | 'references' {
  return key ? 'reference' : 'references'
}

/** A value in a list, which is empty if there is none. */
function present(value: unknown): unknown[] {
  return value === undefined || value === null ? [] : [value]
}

/** The conditions of a record that is in a record with an id, or with other values, at the end of a way. */
export function conditionOn({ path, members }: Chain, value: unknown): object {
  if (members) return membersOf(members, [value])
  return path.reduceRight<object>((inner, { relation, key }, index) => {
    if (index < path.length - 1) return { [relation.propertyName]: inner }
    return typeof value === 'object' ? { [relation.propertyName]: value } : { [key.propertyName]: value }
  }, {})
}

/** Reads the key at the end of a way. With `lock`, the first record of the way stays where it is. */
export async function readAnchor(
  { tx }: RecordWork,
  { target }: EntityMetadata,
  start: ColumnMetadata,
  value: unknown,
  path: readonly Enclosure[],
  lock?: RowLocks['likeKey'],
): Promise<unknown> {
  const column = columnWriter(tx)
  const read = valueReader(start)(value)
  if (read === unreadable) return undefined
  const query = tx
    .createQueryBuilder<ObjectLiteral>(target, alias)
    .where(`${column(alias, start)} = :value`, { value: read })
    .withDeleted()
    .setOption('disable-global-order')
  let last = alias
  for (const [index, { relation }] of path.slice(0, -1).entries()) {
    query.innerJoin(`${last}.${relation.propertyPath}`, `way_${index}`)
    last = `way_${index}`
  }
  const end = path.at(-1)?.key
  if (end) query.select(column(last, end), 'anchor')
  const [row] = await runLocked(tx, query, lock)
  return row?.['anchor']
}

/** Selects columns of the records that meet conditions, and locks them. Rows have the columns' names. */
export function selectLocked(
  tx: EntityManager,
  { target }: EntityMetadata,
  columns: readonly ColumnMetadata[],
  where: object,
  lock: RowLocks['likeKey'] | undefined,
  withDeleted = true,
): Promise<Row[]> {
  const column = columnWriter(tx)
  const query = tx.createQueryBuilder<ObjectLiteral>(target, alias).select([])
  for (const each of columns) query.addSelect(column(alias, each), each.databaseName)
  query.setFindOptions({ where, loadEagerRelations: false, withDeleted })
  return runLocked(tx, query.setOption('disable-global-order'), lock)
}

/** The alias of the table whose rows a statement locks. */
const alias = 'referred'

function runLocked(
  tx: EntityManager,
  query: SelectQueryBuilder<ObjectLiteral>,
  lock: RowLocks['likeKey'] | undefined,
): Promise<Row[]> {
  const [sql, parameters] = query.getQueryAndParameters()
  return readLocked(tx, sql + (lock?.(tx.dataSource.driver.escape(alias)) ?? ''), parameters)
}

/** Adds an error of a reference, in the words of the errors of the database. */
function addError(errors: ValidationErrors, name: string, rule: keyof typeof SENTENCES): void {
  const attribute = humanize(name)
  errors.add(name, rule, `${attribute} ${SENTENCES[rule]}.`, { attribute })
}

const IMMOVABLE = 'This cannot be moved, because another record refers to it or is in it.'

const SENTENCES = {
  reference: 'does not exist',
  references: 'contains a record that does not exist',
  present: 'cannot be blank',
  fixed: 'cannot be changed',
}
