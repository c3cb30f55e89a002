import { ValidationErrors } from '../../errors.js'
import type { Model } from '../../models/model.js'
import { assignKeys, placeOf } from '../../models/record-state.js'
import { validate } from '../../models/validation/validation.js'
import { checkParticipants, joinErrors, type RecordWrite } from '../participants.js'
import { checkTogether, References } from '../references.js'
import { rowsOf } from '../row.js'
import { isSaved, runHook } from '../save.js'
import { translate } from '../violations.js'
import { linesIn, writeOfLine } from './compare.js'
import { linesOf, type Lines } from './declaration.js'
import { storedOf } from './read.js'

/** The checks of the lists of a record that is saved, until its next write. */
const checks = new WeakMap<Model, readonly ListCheck[]>()

/** Returns the errors of the lines, except for those of their rules, which are checked with the rules of the record. */
export function checkLines(write: RecordWrite): Promise<ValidationErrors | undefined> {
  const { record, metadata, action } = write
  const isSave = action === 'create' || action === 'update'
  checks.set(record, isSave ? linesOf(metadata).map((list) => new ListCheck(record, list)) : [])
  return joined(record, (list) => list.check(write))
}

/**
 * Calls the hooks of the lines, and checks what the hook of the record has changed.
 *
 * @throws ValidationErrors
 */
export async function prepareLines(write: RecordWrite): Promise<void> {
  const errors = await joined(write.record, (list) => list.prepare(write))
  if (errors) throw errors
}

/** Takes back what a rejected write has set in the lines. */
export function undoLines({ record }: RecordWrite): void {
  for (const list of checks.get(record) ?? []) list.undo()
}

/** The errors of a line as errors of its record: `lines.1.quantity`. */
export function placeErrors(
  { name }: Lines,
  line: Model,
  index: number,
  errors: ValidationErrors,
): ValidationErrors {
  const result = new ValidationErrors(errors.status === 409 ? 409 : 422, { cause: errors.cause })
  for (const [field, violations] of errors.fields)
    result.fields.set(`${name}.${placeOf(line, index)}.${field}`, [...violations])
  return result
}

type Found = ValidationErrors | undefined

/** The errors of all lists of a record. */
async function joined(record: Model, find: (list: ListCheck) => Promise<Found>): Promise<Found> {
  let errors: ValidationErrors | undefined
  for (const list of checks.get(record) ?? []) errors = joinErrors(errors, await find(list))
  return errors
}

/** The checks of a list, before and after the hook of its record, which can change the list. */
class ListCheck {
  private readonly references = new Map<Model, References>()
  /** The properties that the framework sets, as they were before. */
  private readonly before = new Map<Model, Pick<Model, 'id' | 'created_at' | 'updated_at'>>()

  constructor(
    private readonly record: Model,
    private readonly list: Lines,
  ) {}

  /** Checks the references, the files and the unique values of the lines. */
  async check(write: RecordWrite): Promise<Found> {
    let errors = await this.checkReferences(write, false)
    errors = joinErrors(errors, await this.collect((line) => checkParticipants(writeOfLine(write, line))))
    for (const names of this.list.unique) errors = joinErrors(errors, await this.findRepeated(write, names))
    return errors
  }

  /** Gives the lines their places, calls their hooks, and checks what is new since `check`. */
  async prepare(write: RecordWrite): Promise<Found> {
    const errors = await this.collect(async (line, index) => {
      const { id, created_at, updated_at } = line
      this.before.set(line, { id, created_at, updated_at })
      Object.assign(line, { [this.list.key.propertyName]: this.record.id, position: index })
      const isChecked = this.references.has(line)
      const invalid = isChecked ? undefined : await validate(line, write.work.translate)
      return invalid ?? runHook(writeOfLine(write, line))
    })
    return joinErrors(errors, await this.checkReferences(write, true))
  }

  undo(): void {
    for (const [line, before] of this.before) Object.assign(line, before)
  }

  /** Checks the references of all lines together. */
  private async checkReferences({ work }: RecordWrite, isLast: boolean): Promise<Found> {
    const lines = linesIn(this.record, this.list) ?? []
    const references = lines.map((line) => this.referencesOf(line, work))
    const errors = await checkTogether(work, references, isLast)
    return this.collect(
      async (line, index) => errors[index] && translate(errors[index], line, work.translate),
    )
  }

  private referencesOf(line: Model, work: RecordWrite['work']): References {
    const { record, list, references } = this
    assignKeys(list.metadata, line)
    const values = storedOf(record, list)?.get(line.id)?.values
    const row = values && rowsOf(list.metadata).rowOf(values)
    const options = { bound: work.bound?.(line), parent: record, row }
    const known = references.get(line) ?? new References(work, list.metadata, line, !isSaved(line), options)
    references.set(line, known)
    return known
  }

  /** Finds lines with unique values that an earlier line has, too. */
  private findRepeated({ work }: RecordWrite, names: readonly string[]): Promise<Found> {
    const seen = new Set<string>()
    return this.collect(async (line) => {
      const values = names.map((name): unknown => Reflect.get(line, name))
      if (values.some((value) => value === undefined || value === null)) return undefined
      const text = JSON.stringify(values)
      const isRepeated = seen.has(text)
      seen.add(text)
      if (!isRepeated) return undefined
      const field = names.find((name) => this.list.fields.includes(name)) ?? names[0] ?? ''
      return translate(new ValidationErrors().add(field, 'unique'), line, work.translate)
    })
  }

  /** Collects the errors of the lines. */
  private async collect(find: (line: Model, index: number) => Promise<Found>): Promise<Found> {
    let errors: ValidationErrors | undefined
    for (const [index, line] of (linesIn(this.record, this.list) ?? []).entries()) {
      const own = await find(line, index)
      if (own && !own.isEmpty) errors = joinErrors(errors, placeErrors(this.list, line, index, own))
    }
    return errors
  }
}
