import type { EntityMetadata } from 'typeorm'
import type { Context } from '../context.js'
import { discardTransaction, transactionOf } from '../database/transactions/request-transaction.js'
import { BadRequest, HttpError, ValidationErrors, type Violation } from '../errors.js'
import { addLogFields } from '../logging/request-logger.js'
import type { Model } from '../models/model.js'
import { importOptions } from '../resources/many-options.js'
import type { DeclaredRoute, RouteResource } from '../routing/declared-route.js'
import { translate, violationsOf } from '../records/violations.js'
import { WaitingInserts } from '../records/waiting-inserts.js'
import { Calls } from './calls.js'
import { hasUnclearPoint, readCell } from './cells.js'
import { CsvFile, UnreadableFile, type Line } from './csv-file.js'
import { Heading, type Known } from './heading.js'
import { findByTexts, type RecordsByText } from './lookups.js'
import { formatFor, maxProblems, problemsOf, respondWithProblems } from './problem.js'

/** The lines whose references and keys are looked up at a time. */
const batchLength = 500

const defaultMaxLines = 10_000

/** The id of no record. A reference that is not found has it, so that the handler reports the other errors of the line, too. */
const noId = '00000000-0000-0000-0000-000000000000'

/** The errors of a line. */
interface WrongLine {
  line: number
  errors: ValidationErrors
}

/** Shows the page of the import. */
export function showImport(ctx: Context): void {
  if (formatFor(ctx) !== 'html')
    throw new HttpError(406, 'The page of the import is HTML. Send the file by POST.')
  renderPage(ctx, {})
}

/**
 * Imports a CSV file: each line is one call of `create`, or of `update` if the key finds a record. All lines are saved, or none.
 *
 * @throws BadRequest (400) when there is no file, or another query than `check=true`; HttpError (413) when there are too many lines
 */
export async function runImport(ctx: Context): Promise<void> {
  const isCheck = ctx.querystring !== ''
  if (isCheck && ctx.querystring !== 'check=true')
    throw new BadRequest('An import has no other query than check=true, which saves nothing.')
  // A file that is too large.
  ctx.rejectData()
  const given = ctx.request.files?.['file']
  const file = Array.isArray(given) ? given.at(-1) : given
  if (!file || file.size === 0) throw new BadRequest('Choose a file.')
  await new Import(ctx, isCheck).run(file.filepath)
}

/** One import. */
class Import {
  private readonly resource: RouteResource
  private readonly metadata: EntityMetadata
  private readonly heading: Heading
  private columns: readonly (Known | undefined)[] = []
  private separator = ','
  private wrong: WrongLine[] = []
  /** The inserts of the lines, which are sent together. */
  private readonly waiting: WaitingInserts<number>
  private readonly counts = { lines: 0, created: 0, updated: 0 }
  /** The line in which each key was first. */
  private readonly seen = new Map<string, number>()

  constructor(
    private readonly ctx: Context,
    private readonly isCheck: boolean,
  ) {
    const { resource } = ctx.route
    if (!resource?.model) throw new TypeError(`${ctx.route.handlerName} has no model.`)
    this.resource = resource
    this.metadata = ctx.tx.dataSource.getMetadata(resource.model)
    this.heading = new Heading(ctx, this.metadata)
    this.waiting = new WaitingInserts(ctx.tx)
  }

  async run(path: string): Promise<void> {
    const { ctx, counts, heading } = this
    const { maxLines = defaultMaxLines } = importOptions(this.resource.many)
    try {
      const file = await CsvFile.open(path, (text) => heading.find(text) !== undefined, maxLines)
      this.separator = file.separator
      // The whole file is read before the transaction begins.
      await this.readHeading(file)
      if (this.wrong.length === 0) await this.importLines(file)
    } catch (error) {
      if (!(error instanceof UnreadableFile)) throw error
      this.reject(error.line, new ValidationErrors().add('base', error.rule))
    }
    addLogFields(ctx, counts)
    await (this.wrong.length > 0 ? this.respondWithErrors() : this.respondWithCounts())
  }

  /** Reads the heading, and counts the lines. */
  private async readHeading(file: CsvFile): Promise<void> {
    let heading: Line | undefined
    for await (const line of file.lines()) {
      if (!heading) heading = line
      else this.counts.lines += 1
    }
    if (!heading || this.counts.lines === 0)
      return this.reject(1, new ValidationErrors().add('base', 'csv.empty'))
    const columns = this.heading.read(heading.cells)
    if (columns instanceof ValidationErrors) this.reject(heading.line, columns)
    else this.columns = columns
  }

  private async importLines(file: CsvFile): Promise<void> {
    // The cells are read neither as the fields of a form nor as values of JSON.
    const headers = { ...this.ctx.req.headers, 'content-type': 'text/csv' }
    const calls = new Calls(this.ctx, { req: Object.create(this.ctx.req, { headers: { value: headers } }) })
    const transaction = transactionOf(this.ctx)
    if (transaction) transaction.waiting = this.waiting
    const lines = file.lines()
    await lines.next()
    for await (const batch of inBatches(lines)) {
      await this.importBatch(calls, batch)
      if (this.wrong.length >= maxProblems) break
    }
    await this.waiting.send()
    if (transaction) transaction.waiting = undefined
    await this.rejectFailed()
  }

  private async importBatch(calls: Calls, batch: readonly Line[]): Promise<void> {
    const found = await this.lookUp(batch)
    for (const line of batch) {
      const errors = await this.importLine(calls, line, found)
      if (errors) this.reject(line.line, errors)
      if (this.wrong.length >= maxProblems) return
    }
  }

  /** Adds the errors of the records that the database has rejected to those of their lines. */
  private async rejectFailed(): Promise<void> {
    const { ctx } = this
    for (const { record, error, owner } of this.waiting.failed) {
      const violations = await violationsOf(ctx.tx, record, error, ctx.pathKeys)
      translate(violations, record, ctx.translate)
      this.wrong.push({ line: owner ?? 1, errors: this.nameColumns(violations.fields) })
    }
    this.wrong = this.wrong.toSorted((a, b) => a.line - b.line).slice(0, maxProblems)
  }

  /** Looks up the keys and references of some lines, by their columns. */
  private async lookUp(batch: readonly Line[]): Promise<Map<Known, RecordsByText>> {
    const found = new Map<Known, RecordsByText>()
    for (const [index, column] of this.columns.entries()) {
      if (!column || (column.use !== 'reference' && column.sets !== this.heading.key)) continue
      const { reference, sets } = column
      const texts = new Set(batch.map(({ cells }) => this.read(cells, index)).filter(Boolean))
      const searched = reference?.metadata ?? this.metadata.findColumnWithPropertyName(sets)
      if (searched) found.set(column, await findByTexts(this.ctx, searched, [...texts], Boolean(reference)))
    }
    return found
  }

  /** Calls the handler of a line. Returns the errors, with the columns of the file as fields. */
  private async importLine(
    calls: Calls,
    { line, cells }: Line,
    found: ReadonlyMap<Known, RecordsByText>,
  ): Promise<ValidationErrors | undefined> {
    const { columns, heading, seen } = this
    const body: Record<string, unknown> = {}
    const own = new ValidationErrors()
    let existing: Model | undefined
    if (cells.some((cell, index) => cell !== '' && !columns[index])) return errorAt('base', 'csv.cells')
    for (const [index, column] of columns.entries()) {
      if (!column || column.use === 'ignored') continue
      const { use, sets, name, reference } = column
      const text = this.read(cells, index)
      if (hasUnclearPoint(text, column.kind, this.separator))
        own.add(sets, 'csv.thousands', undefined, { cell: text })
      const record = found.get(column)?.get(text)
      const [key] = reference?.relation?.joinColumns ?? []
      if (use === 'field') body[name] = text
      if (use === 'reference')
        body[sets] = record ? key?.referencedColumn?.getEntityValue(record) : text && noId
      if (use === 'reference' && text !== '' && !record) own.add(sets, 'reference')
      if (sets !== heading.key || text === '') continue
      if (use === 'id' && !record) return errorAt(name, 'reference')
      const value = record?.id ?? text
      const first = seen.get(value)
      if (first !== undefined) return errorAt(name, 'csv.repeated', { line: first })
      seen.set(value, line)
      existing = record
    }
    const others = await this.call(calls, line, existing, body)
    if (!others && own.isEmpty) return undefined
    this.ctx.translateErrors(own)
    return this.nameColumns([...(others?.fields ?? []), ...own.fields])
  }

  private async call(
    calls: Calls,
    line: number,
    existing: Model | undefined,
    body: object,
  ): Promise<ValidationErrors | undefined> {
    const { param, itemKey = 'id', routes } = this.resource
    const route = routes.get(existing ? 'update' : 'create') as DeclaredRoute
    const own = existing && { [param]: String(Reflect.get(existing, itemKey)) }
    const params = { ...this.ctx.params, ...own }
    this.waiting.owner = line
    const errors = await calls.callForRecord({ place: `Line ${line}`, route, params, body, importLine: line })
    if (!errors) this.counts[existing ? 'updated' : 'created'] += 1
    return errors
  }

  private read(cells: readonly string[], index: number): string {
    return readCell(cells[index] ?? '', this.columns[index]?.kind ?? 'string', this.separator)
  }

  /** Returns errors under the names of the columns of the file. */
  private nameColumns(fields: Iterable<[string, Violation[]]>): ValidationErrors {
    const errors = new ValidationErrors()
    for (const [field, violations] of fields) {
      const column = this.columns.find((it) => it?.sets === field && it.use !== 'ignored')
      errors.fields.set(column?.name ?? field, violations)
    }
    return errors
  }

  private reject(line: number, errors: ValidationErrors): void {
    this.ctx.translateErrors(errors)
    this.wrong.push({ line, errors })
  }

  private async respondWithCounts(): Promise<void> {
    const { ctx, isCheck } = this
    const { created, updated } = this.counts
    // The columns that nobody may write.
    const ignored = this.columns.flatMap((column) => (column?.use === 'ignored' ? column.name : []))
    if (isCheck) discardTransaction(ctx)
    const message = ctx.t(isCheck ? 'kit.import.checked' : 'kit.import.success', { created, updated })
    const html = (): void =>
      isCheck
        ? renderPage(ctx, { message, ignored })
        : ctx.seeOther(listPath(ctx) ?? '/', { success: message })
    const data = { created, updated, ignored }
    await ctx.respond({ ...(ctx.defaultFormat === 'html' && { html }), data })
  }

  private async respondWithErrors(): Promise<void> {
    const { ctx, wrong, counts } = this
    const id = wrong.length < maxProblems ? 'kit.import.errors' : 'kit.import.first_errors'
    const detail = ctx.t(id, {
      count: wrong.length,
      // The lines of an unreadable file are not counted.
      total: Math.max(counts.lines, wrong.length),
    })
    const lines = wrong.map(({ line, errors }) => ({ line, ...problemsOf(errors) }))
    await respondWithProblems(ctx, { detail, lines }, () => renderPage(ctx, { detail, lines }))
  }
}

function errorAt(field: string, rule: string, values?: Record<string, unknown>): ValidationErrors {
  return new ValidationErrors().add(field, rule, undefined, values)
}

/** The lines of a file, some at a time. */
async function* inBatches(lines: AsyncIterable<Line>): AsyncGenerator<Line[]> {
  let batch: Line[] = []
  for await (const line of lines) {
    batch.push(line)
    if (batch.length < batchLength) continue
    yield batch
    batch = []
  }
  yield batch
}

function listPath({ route, params }: Context): string | undefined {
  return route.resource?.routes.get('list')?.url(params)
}

/** Renders the page of an import, of the application or of the framework. */
function renderPage(ctx: Context, locals: object): void {
  const { plural, model = Object } = ctx.route.resource ?? {}
  const { known } = new Heading(ctx, ctx.tx.dataSource.getMetadata(model))
  const columns = known.filter(({ use }) => use !== 'ignored')
  const view = `${plural}/import`
  ctx.render(ctx.hasTemplate(view) ? view : 'many_import', { columns, list: listPath(ctx), ...locals })
}
