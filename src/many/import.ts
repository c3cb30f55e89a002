import type { EntityMetadata } from 'typeorm'
import type { Context } from '../context.js'
import { discardTransaction, transactionOf } from '../database/transactions/request-transaction.js'
import { BadRequest, HttpError, ValidationErrors } from '../errors.js'
import { addLogFields } from '../logging/request-logger.js'
import type { AttributeKind } from '../models/attributes/attributes.js'
import type { DeclaredRoute, RouteResource } from '../routing/declared-route.js'
import { translate, violationsOf } from '../records/violations.js'
import { WaitingInserts } from '../records/waiting-inserts.js'
import { Calls } from './calls.js'
import { readText } from './cells.js'
import { CsvFile, UnreadableFile, type Line, type Separator } from './csv-file.js'
import { Heading, type Known } from './heading.js'
import { findExisting, findReferred, type RecordsByValue } from './lookups.js'
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
  private readonly key: string | undefined
  private readonly maxLines: number
  private columns: (Known | undefined)[] = []
  private separator: Separator = ','
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
    const options = resource.many?.import === true ? {} : (resource.many?.import ?? {})
    this.key = options.key
    this.maxLines = options.maxLines ?? defaultMaxLines
    this.heading = new Heading(ctx, this.metadata)
    this.waiting = new WaitingInserts(ctx.tx)
  }

  async run(path: string): Promise<void> {
    const { ctx, counts } = this
    try {
      const file = await CsvFile.open(path, (text) => this.heading.find(text) !== undefined, this.maxLines)
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
    const columns = this.heading.read(heading.cells, this.key)
    if (columns instanceof ValidationErrors) this.reject(heading.line, columns)
    else this.columns = columns
  }

  private async importLines(file: CsvFile): Promise<void> {
    // The cells are read neither as the fields of a form nor as values of JSON.
    const headers = { ...this.ctx.req.headers, 'content-type': 'text/csv' }
    const calls = new Calls(this.ctx, { req: Object.create(this.ctx.req, { headers: { value: headers } }) })
    const transaction = transactionOf(this.ctx)
    if (transaction) transaction.waiting = this.waiting
    await this.importBatches(calls, file)
    await this.waiting.send()
    if (transaction) transaction.waiting = undefined
    await this.rejectFailed()
  }

  private async importBatches(calls: Calls, file: CsvFile): Promise<void> {
    let batch: Line[] = []
    let isHeading = true
    for await (const line of file.lines()) {
      if (!isHeading) batch.push(line)
      isHeading = false
      if (batch.length < batchLength) continue
      await this.importBatch(calls, batch)
      batch = []
      if (this.wrong.length >= maxProblems) return
    }
    await this.importBatch(calls, batch)
  }

  /** Adds the errors of the records that the database has rejected to those of their lines. */
  private async rejectFailed(): Promise<void> {
    const { ctx } = this
    for (const { record, error, owner } of this.waiting.failed) {
      const violations = await violationsOf(ctx.tx, record, error, ctx.pathKeys)
      translate(violations, record, ctx.translate)
      this.wrong.push({ line: owner ?? 1, errors: this.merge(violations) ?? violations })
    }
    this.wrong = this.wrong.toSorted((a, b) => a.line - b.line).slice(0, maxProblems)
  }

  private async importBatch(calls: Calls, batch: readonly Line[]): Promise<void> {
    const found = await this.lookUp(batch)
    for (const line of batch) {
      const errors = await this.importLine(calls, line, found)
      if (errors) this.reject(line.line, errors)
      if (this.wrong.length >= maxProblems) return
    }
  }

  /** Looks up the keys and references of some lines, by their columns. */
  private async lookUp(batch: readonly Line[]): Promise<Map<Known, RecordsByValue>> {
    const found = new Map<Known, RecordsByValue>()
    for (const [index, column] of this.columns.entries()) {
      const { reference, use, sets } = column ?? {}
      if (!column || (use !== 'reference' && sets !== this.key)) continue
      const kind = reference?.kind ?? column.attribute?.kind ?? 'string'
      const texts = [...new Set(batch.map(({ cells }) => readText(cells[index] ?? '', kind)).filter(Boolean))]
      const records =
        use === 'reference' && reference
          ? await findReferred(this.ctx, reference, texts)
          : await findExisting(this.ctx, this.metadata, column.sets, texts)
      found.set(column, records)
    }
    return found
  }

  /** Calls the handler of a line. Returns the errors, with the columns of the file as fields. */
  private async importLine(
    calls: Calls,
    { line, cells }: Line,
    found: ReadonlyMap<Known, RecordsByValue>,
  ): Promise<ValidationErrors | undefined> {
    const own = new ValidationErrors()
    const body: Record<string, unknown> = {}
    let existing: object | undefined
    if (cells.some((cell, index) => cell !== '' && !this.columns[index])) return own.add('base', 'csv.cells')
    for (const [index, column] of this.columns.entries()) {
      if (!column) continue
      const { reference, attribute, use, sets, name } = column
      const text = this.read(cells[index] ?? '', reference?.kind ?? attribute?.kind ?? 'string')
      const record = found.get(column)?.get(text)
      if (use === 'field') body[name] = text
      if (use === 'reference') {
        if (text !== '' && !record) own.add(sets, 'reference')
        const [key] = reference?.relation?.joinColumns ?? []
        body[sets] = text === '' ? '' : record ? key?.referencedColumn?.getEntityValue(record) : noId
      }
      if (sets !== this.key || text === '') continue
      existing = record
      const first = this.seen.get(text)
      if (first !== undefined) return own.add(name, 'csv.repeated', undefined, { line: first })
      this.seen.set(text, line)
      if (use === 'id' && !record) return own.add(name, 'reference')
    }
    this.ctx.translateErrors(own)
    return this.merge(own, await this.call(calls, line, existing, body))
  }

  private async call(
    calls: Calls,
    line: number,
    existing: object | undefined,
    body: object,
  ): Promise<ValidationErrors | undefined> {
    const { param, itemKey = 'id', routes } = this.resource
    const route = routes.get(existing ? 'update' : 'create') as DeclaredRoute
    const own = existing ? { [param]: String(Reflect.get(existing, itemKey)) } : {}
    const params = { ...this.ctx.params, ...own }
    this.waiting.owner = line
    const errors = await calls.callForRecord({ place: `Line ${line}`, route, params, body, importLine: line })
    if (!errors) this.counts[existing ? 'updated' : 'created'] += 1
    return errors
  }

  /** Reads the spelling of a cell that spreadsheets write. */
  private read(cell: string, kind: AttributeKind): string {
    if (kind === 'bool') return cell.toLowerCase()
    if (this.separator !== ';') return readText(cell, kind)
    // Where the semicolon separates cells, the comma and the order of day and month are unambiguous.
    if ((kind === 'decimal' || kind === 'float') && /^\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*$/i.test(cell))
      return cell.replace(',', '.')
    const [, day, month, year] = /^\s*(\d{1,2})\.(\d{1,2})\.(\d{4})\s*$/.exec(cell) ?? []
    if (kind === 'date' && day && month) return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
    return readText(cell, kind)
  }

  /** Joins the errors of the references and those of the handler, under the names of the columns of the file. */
  private merge(own: ValidationErrors, others?: ValidationErrors): ValidationErrors | undefined {
    const errors = new ValidationErrors()
    for (const [field, violations] of [...(others?.fields ?? []), ...own.fields]) {
      const column = this.columns.find((it) => it?.sets === field && it.use !== 'ignored')
      errors.fields.set(column?.name ?? field, violations)
    }
    return errors.isEmpty ? undefined : errors
  }

  private reject(line: number, errors: ValidationErrors): void {
    this.ctx.translateErrors(errors)
    this.wrong.push({ line, errors })
  }

  /** The names of the columns that nobody may write. */
  private get ignored(): string[] {
    return this.columns.flatMap((column) => (column?.use === 'ignored' ? column.name : []))
  }

  private async respondWithCounts(): Promise<void> {
    const { ctx, isCheck, ignored, resource } = this
    const { created, updated } = this.counts
    if (isCheck) discardTransaction(ctx)
    const message = ctx.t(isCheck ? 'kit.import.checked' : 'kit.import.success', { created, updated })
    const list = resource.routes.get('list')?.url(ctx.params) ?? '/'
    const html = (): void =>
      isCheck ? renderPage(ctx, { message, ignored }) : ctx.seeOther(list, { success: message })
    const data = { created, updated, ignored }
    await ctx.respond({ ...(ctx.defaultFormat === 'html' && { html }), data })
  }

  private async respondWithErrors(): Promise<void> {
    const { ctx, wrong } = this
    const { lines: total } = this.counts
    const id = wrong.length < maxProblems ? 'kit.import.errors' : 'kit.import.first_errors'
    const detail = ctx.t(id, { count: wrong.length, total })
    const lines = wrong.map(({ line, errors }) => ({ line, ...problemsOf(errors) }))
    await respondWithProblems(ctx, { detail, lines }, () => renderPage(ctx, { detail, lines }))
  }
}

/** Renders the page of an import, of the application or of the framework. */
function renderPage(ctx: Context, locals: object): void {
  const { resource } = ctx.route
  const model = resource?.model
  const view = `${resource?.plural}/import`
  const columns = model ? new Heading(ctx, ctx.tx.dataSource.getMetadata(model)).known : []
  const list = resource?.routes.get('list')?.url(ctx.params)
  const written = columns.filter(({ use }) => use !== 'ignored')
  ctx.render(ctx.hasTemplate(view) ? view : 'many_import', { columns: written, list, ...locals })
}
