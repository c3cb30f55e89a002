import { expect } from 'chai'
import {
  AfterInsert,
  AfterUpdate,
  BeforeInsert,
  BeforeUpdate,
  Column,
  CreateDateColumn,
  DeleteDateColumn,
  Entity,
  Generated,
  JoinColumn,
  ManyToOne,
  QueryFailedError,
  VersionColumn,
} from 'typeorm'
import type { ColumnOptions, EntitySubscriberInterface, ValueTransformer } from 'typeorm'
import { Database } from '../../src/database/database.js'
import { columnTypes, type AttributeKind } from '../../src/models/attributes/kinds.js'
import { newId } from '../../src/models/ids.js'
import { Model } from '../../src/models/model.js'
import { ValidationErrors } from '../../src/errors.js'
import { newDatabase } from '../support/databases.js'
import { engine } from '../support/engine.js'
import { Random } from '../support/random.js'
import { saveRecord } from '../support/records.js'

/** The number of records: a few with `npm test`. */
const total = Number(process.env['KIT_RECORDS'] ?? 60)
/** The seed of a failed run, which is printed with the failure. */
const seed = Number(process.env['KIT_RECORDS_SEED'] ?? Date.now() % 2 ** 31)

const enums = ['one', 'two', 'Three', 'four 4']

/** A value of each kind, as a model has it. */
const values: Record<AttributeKind, (random: Random) => unknown> = {
  // A value and its reversal, for columns with a transformer.
  string: (random) =>
    random.chance(0.3)
      ? random.of(['abc', 'cba'])
      : random.of(['', 'a', 'A', ' b ', 'ä"\'\\', '\u{1f600}', 'null', '1', '[1]']),
  text: (random) => random.of(['', 'long '.repeat(200), 'a\nb\r\nc', 'text', '{"a":1}']),
  int: (random) => random.of([0, 1, -1, 2 ** 31 - 1, 7]),
  bigint: (random) => random.of(['0', '9007199254740993', '-5', '12']),
  float: (random) => random.of([0, 1.5, -0.1, 1e10, 3]),
  decimal: (random) => random.of(['0', '1.50', '1.5', '-12.25', '99999999.99']),
  bool: (random) => random.chance(0.5),
  date: (random) => random.of(['2024-02-29', '1999-12-31', '2026-01-01']),
  time: (random) => random.of(['00:00:00', '23:59:59', '12:30:00']),
  datetime: (random) => new Date(random.of([0, 1_700_000_000_123, 1_700_000_000_000])),
  uuid: (random) =>
    random.of(['0193b6a2-7c3e-7000-8000-00000000000a', '0193b6a2-7c3e-7000-8000-00000000000b']),
  json: (random) =>
    random.of([
      { b: 1, a: [1, null] },
      { a: [1, null], b: 1 },
      [],
      'text',
      '"quoted"',
      5,
      false,
      { nested: { d: 'x' } },
    ]),
  enum: (random) => random.of(enums as [string]),
}
/** Defaults, of the kinds for which TypeORM's statements for tables are right. */
const defaults: Partial<Record<AttributeKind, unknown>> = {
  string: 'default',
  int: 5,
  bigint: '9007199254740993',
  float: 1.5,
  decimal: '1.50',
  bool: true,
  date: '2024-02-29',
  enum: 'two',
}
const kinds = Object.keys(values) as AttributeKind[]

/** Reverses text, so that what is stored differs from what the record has. */
const reversed: ValueTransformer = {
  to: (value: unknown) => (typeof value === 'string' ? [...value].toReversed().join('') : value),
  from: (value: unknown) => (typeof value === 'string' ? [...value].toReversed().join('') : value),
}

/** A property of a model, with the values that it can have; undefined if only the database sets it. */
interface Property {
  path: readonly string[]
  value?: (random: Random) => unknown
}

interface RandomModel {
  model: new () => Model
  properties: Property[]
  /** Whether TypeORM sees the same changes. It takes columns without `select` or `update`, and a relation that is null, for changed. */
  isExact: boolean
  text: string
}

@Entity('targets')
class Target extends Model {}

/** The events of a record that its listeners and the subscribers have heard. */
const heard = new WeakMap<object, string[]>()

function hear(record: object, event: string): void {
  heard.set(record, [...(heard.get(record) ?? []), event])
}

function columnOf(random: Random, kind: AttributeKind): { options: ColumnOptions; text: string } {
  const options: ColumnOptions = { type: columnTypes[kind] }
  if (kind === 'enum') options.enum = enums
  if (kind === 'decimal') Object.assign(options, { precision: 10, scale: 2 })
  if (kind === 'time') Object.assign(options, engine === 'mariadb' ? { precision: 0 } : {})
  if (random.chance(0.4)) options.nullable = true
  if (random.chance(0.15) && kind in defaults) options.default = defaults[kind]
  // TypeORM writes a column that it does not select again, and with the members of JSON in the given order.
  if (random.chance(0.1) && kind !== 'json') options.select = false
  if (random.chance(0.1)) options.update = false
  if ((kind === 'string' || kind === 'text') && random.chance(0.3)) {
    options.transformer = reversed
    delete options.default
  }
  if (engine === 'postgres' && ['string', 'int', 'uuid'].includes(kind) && random.chance(0.2)) {
    options.array = true
    delete options.default
    delete options.transformer
  }
  const { type, transformer, ...others } = options
  return { options, text: `${String(type)}${transformer ? ' transformed' : ''} ${JSON.stringify(others)}` }
}

/** Declares a model with random columns, as its decorators would. */
function declareModel(random: Random, number: number): RandomModel {
  class Declared extends Model {}
  const properties: Property[] = []
  const texts: string[] = []
  let isExact = true
  const declare = (target: object, name: string, path: readonly string[]) => {
    const kind = random.of(kinds as [AttributeKind])
    const { options, text } = columnOf(random, kind)
    Column(options)(target, name)
    texts.push(`${path.join('.')}: ${text}`)
    if (options.select === false || options.update === false) isExact = false
    const one = values[kind]
    const value = (some: Random) => {
      if (options.nullable && some.chance(0.25)) return null
      return options.array ? Array.from({ length: some.below(3) }, () => one(some)) : one(some)
    }
    properties.push({ path, value })
  }
  const { prototype } = Declared
  const count = 2 + random.below(7)
  for (let index = 0; index < count; index++) declare(prototype, `value_${index}`, [`value_${index}`])
  if (random.chance(0.4)) {
    class Part {}
    for (const name of ['first', 'second']) declare(Part.prototype, name, ['part', name])
    Column(() => Part, random.chance(0.5) ? { prefix: 'other' } : {})(prototype, 'part')
  }
  if (random.chance(0.3)) {
    Column('varchar', { name: 'odd name' })(prototype, 'renamed')
    properties.push({ path: ['renamed'], value: values.string })
  }
  const target = { id: '' }
  if (random.chance(0.3)) {
    const isDeclared = random.chance(0.5)
    if (isDeclared) {
      Column('uuid', { nullable: true })(prototype, 'target_id')
      properties.push({ path: ['target_id'], value: (some) => (some.chance(0.3) ? null : target.id) })
    } else {
      const related = (some: Random) => (some.chance(0.3) ? null : Object.assign(new Target(), target))
      properties.push({ path: ['target'], value: related })
    }
    ManyToOne(() => Target, { nullable: true })(prototype, 'target')
    JoinColumn({ name: 'target_id' })(prototype, 'target')
    targets.push(target)
    texts.push(isDeclared ? 'key of a target' : 'target')
    if (!isDeclared) isExact = false
  }
  if (random.chance(0.4)) VersionColumn()(prototype, 'lock_version')
  if (random.chance(0.2)) CreateDateColumn()(prototype, 'joined_at')
  if (random.chance(0.2)) DeleteDateColumn()(prototype, 'deleted_at')
  if (random.chance(0.1) && engine !== 'sqlite') {
    Column({ type: 'uuid', nullable: true })(prototype, 'code')
    Generated('uuid')(prototype, 'code')
  }
  if (random.chance(0.3)) {
    const events = { BeforeInsert, AfterInsert, BeforeUpdate, AfterUpdate }
    for (const [event, decorator] of Object.entries(events)) {
      const listener = function (this: object) {
        hear(this, event)
        const isText = typeof Reflect.get(this, 'renamed') === 'string'
        if (isExact && event.startsWith('Before') && isText)
          Reflect.set(this, 'renamed', `${Reflect.get(this, 'renamed')}!`)
      }
      Object.defineProperty(prototype, event, { value: listener })
      decorator()(prototype, event)
    }
    texts.push('listeners')
  }
  Object.defineProperty(Declared, 'name', { value: `Random${number}` })
  Entity(`random_${number}`)(Declared)
  return { model: Declared, properties, isExact, text: texts.join('; ') }
}

const targets: { id: string }[] = []

const subscriber: EntitySubscriberInterface = {
  beforeInsert: ({ entity }) => hear(Object(entity), 'beforeInsert'),
  afterInsert: ({ entity }) => hear(Object(entity), 'afterInsert'),
  beforeUpdate: ({ entity, updatedColumns, updatedRelations }) => {
    const names = [...updatedColumns, ...updatedRelations].map(({ propertyPath }) => propertyPath)
    hear(Object(entity), `beforeUpdate ${names.join()}`)
  },
  afterUpdate: ({ entity }) => hear(Object(entity), 'afterUpdate'),
}

/** Compares values by their JSON. The message of a failure contains both. */
function expectSame(own?: unknown, other?: unknown): void {
  const [left, right] = [own, other].map((value) => JSON.stringify(value))
  if (left !== right) throw new Error(`ctx.save: ${left}\nctx.tx.save: ${right}`)
}

/** Whether a save has been rejected by the database. */
function resultOf(save: Promise<void>): Promise<string> {
  return save.then(
    () => 'stored',
    (error: unknown) => {
      if (error instanceof ValidationErrors || error instanceof QueryFailedError) return 'rejected'
      throw error
    },
  )
}

describe(`${total} random records (KIT_RECORDS_SEED=${seed})`, function () {
  this.timeout(300_000 + total * 500)
  let database: Database
  const random = new Random(seed)
  const models = Array.from({ length: Math.max(6, Math.ceil(total / 10)) }, (_, number) =>
    declareModel(random, number),
  )

  before(async () => {
    const url = await newDatabase()
    database = await new Database(
      { test: { url, logging: false }, models: [Target, ...models.map(({ model }) => model)] },
      'test',
    ).open()
    await database.synchronize()
    const { id } = await database.manager.save(new Target())
    for (const target of targets) target.id = id
  })
  after(() => database.close())

  it('are stored by ctx.save as by ctx.tx.save', async () => {
    for (let number = 0; number < total; number++) {
      const chosen = models[number % models.length]
      if (!chosen) throw new Error('there are no models')
      const log: string[] = []
      const pair = new Pair(new Random(seed + number), chosen, log)
      await pair.run().catch((error: unknown) => {
        const text = `KIT_RECORDS_SEED=${seed}, record ${number}: ${chosen.text}\n${log.join('\n')}`
        throw new Error(`${text}\n${String(error)}`, { cause: error })
      })
    }
  })

  /** Two records of a model that are changed in the same way, and written in two ways. */
  class Pair {
    private own: Model
    private other: Model

    constructor(
      private readonly random: Random,
      private readonly chosen: RandomModel,
      private readonly log: string[],
    ) {
      this.own = new chosen.model()
      this.other = new chosen.model()
    }

    async run(): Promise<void> {
      const isHeard = this.random.chance(0.3)
      if (isHeard) database.subscribers.push(subscriber)
      try {
        if (this.random.chance(0.3)) for (const record of [this.own, this.other]) record.id = newId()
        this.change(0.7)
        await this.save()
        for (let step = 0; step < 4; step++) {
          if (this.own.created_at && this.random.chance(0.5)) await this.find()
          this.change(0.3)
          await this.save()
        }
      } finally {
        if (isHeard) database.subscribers.pop()
      }
    }

    /** Sets some properties of both records. */
    private change(probability: number): void {
      for (const { path, value } of this.chosen.properties) {
        if (!value || !this.random.chance(probability)) continue
        const given = value(this.random)
        this.log.push(`${path.join('.')} = ${JSON.stringify(given)}`)
        for (const record of [this.own, this.other]) {
          const [first = '', second] = path
          const copy: unknown = given instanceof Model ? given : structuredClone(given)
          if (second === undefined) Reflect.set(record, first, copy)
          else
            Reflect.set((Reflect.get(record, first) ?? this.newPart(record, first)) as object, second, copy)
        }
      }
    }

    private newPart(record: Model, name: string): object {
      const metadata = database.getMetadata(this.chosen.model)
      const part: object =
        metadata.embeddeds.find(({ propertyName }) => propertyName === name)?.create() ?? {}
      Reflect.set(record, name, part)
      return part
    }

    private async find(): Promise<void> {
      this.log.push('find')
      const { model } = this.chosen
      const find = (id: string) =>
        database.manager.findOneOrFail<Model>(model, { where: { id }, withDeleted: true })
      ;[this.own, this.other] = [await find(this.own.id), await find(this.other.id)]
    }

    private async save(): Promise<void> {
      this.log.push('save')
      const [own, other] = [await resultOf(this.saveOwn()), await resultOf(this.saveOther())]
      expect(own).to.equal(other)
      if (own === 'rejected') {
        this.log.push('rejected')
        await this.recover()
        return
      }
      const rows = [await this.row(this.own.id), await this.row(this.other.id)]
      expectSame(...rows)
      if (this.chosen.isExact) expectSame(heard.get(this.own), heard.get(this.other))
    }

    private async saveOwn(): Promise<void> {
      const errors = await database.transaction((tx) => saveRecord(tx, this.own))
      if (errors) throw errors
    }

    /** Saves the other record by TypeORM, whose known mistakes it makes up for. */
    private async saveOther(): Promise<void> {
      const { other, chosen } = this
      const { columns } = database.getMetadata(chosen.model)
      const isNew = other.created_at === undefined
      // MariaDB gives a required enum its first value.
      for (const column of columns)
        if (
          isNew &&
          column.enum &&
          !column.isNullable &&
          column.default === undefined &&
          !column.getEntityValue(other)
        )
          column.setEntityValue(other, null)
      const unread = columns.filter(
        (column) => !(isNew && column.isSelect) && column.getEntityValue(other) === undefined,
      )
      await database.transaction((tx) => tx.save(other))
      // TypeORM sets them to null, which the next save would write.
      for (const column of unread)
        if (column.getEntityValue(other) === null) column.setEntityValue(other, undefined)
    }

    /** After the database has rejected both, the records get all values that they need. */
    private async recover(): Promise<void> {
      const { model } = this.chosen
      const isStored = await database.manager.existsBy(model, { id: this.own.id ?? newId() } as object)
      if (isStored) return this.find()
      ;[this.own, this.other] = [new model(), new model()]
      this.change(1)
    }

    /** The row of a record, without what differs by time and chance. */
    private async row(id: string): Promise<Record<string, unknown>> {
      const { driver } = database
      const table = database.getMetadata(this.chosen.model).tablePath
      const [row]: Record<string, unknown>[] = await database.query(
        `SELECT * FROM ${driver.escape(table)} WHERE id = ${driver.createParameter('id', 0)}`,
        [id],
      )
      if (!row) throw new Error('there is no row')
      for (const name of ['id', 'created_at', 'updated_at', 'joined_at', 'code'])
        if (name in row) row[name] = typeof row[name]
      if (!this.chosen.isExact) delete row['lock_version']
      return row
    }
  }
})
