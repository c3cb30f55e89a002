import { PerRequest } from '../../common/per-request.js'
import type { Context } from '../../context.js'
import { ContentTooLarge, type ValidationErrors } from '../../errors.js'
import { chooseFormat } from '../responder.js'

/** The files of a form that were read and dropped, because all files together are too large. */
interface RejectedFiles {
  fields: Set<string>
  /** The maximum size of all files in bytes. */
  limit: number
  /** Whether the form that is shown again has the errors. */
  isReported: boolean
}

const rejectedFiles = new PerRequest<RejectedFiles>()

/** How much larger than their limit the files may be. A browser reads no response before their end. */
const maxExcess = 10

/** The maximum bytes of the files that are read: for a browser, which shows the form again, more. */
export function readableFiles(ctx: Context, limit: number): number {
  return chooseFormat(ctx) === 'html' ? maxExcess * limit : limit
}

/** Notes that a file of a field was dropped. */
export function rejectFile(ctx: Context, field: string, limit: number): void {
  const { fields } = rejectedFiles.get(ctx) ?? {}
  rejectedFiles.set(ctx, { fields: new Set([...(fields ?? []), field]), limit, isReported: false })
}

/** Whether a file of a field was dropped. */
export function isRejectedField(ctx: Context, field: string): boolean {
  return rejectedFiles.get(ctx)?.fields.has(field) ?? false
}

/** Returns the fields of dropped files, and their limit as text, for the errors of the form. */
export function reportRejectedFiles(ctx: Context): { fields: readonly string[]; max: string } | undefined {
  const rejected = rejectedFiles.get(ctx)
  if (!rejected) return undefined
  rejected.isReported = true
  return { fields: [...rejected.fields], max: sizeText(rejected.limit) }
}

/** Adds the errors of dropped files to those that a handler responds with. They replace others there. */
export function addRejectedFiles(ctx: Context, errors: ValidationErrors): void {
  const { fields = [], max } = reportRejectedFiles(ctx) ?? {}
  for (const part of fields) {
    // The file of a line is in the part `lines[0][photo]`.
    const field = part.replaceAll(/\[(\w+)\]/g, '.$1')
    if (errors.fields.get(field)?.some(({ rule }) => rule === 'file_size')) continue
    errors.fields.delete(field)
    errors.add(field, 'file_size', undefined, { max })
  }
}

/** @throws ContentTooLarge (413) for dropped files if the route neither creates nor updates */
export function requireForm(ctx: Context): void {
  const rejected = rejectedFiles.get(ctx)
  const { action } = ctx.route.resource ?? {}
  if (rejected && action !== 'create' && action !== 'update') throw new ContentTooLarge(rejected.limit)
}

/** @throws ContentTooLarge (413) when files were dropped, and the handler responded without their errors */
export function rejectUnreported(ctx: Context): void {
  const rejected = rejectedFiles.get(ctx)
  if (rejected && !rejected.isReported) throw new ContentTooLarge(rejected.limit)
}

/** Writes a number of bytes for people: `10 MiB`. */
export function sizeText(bytes: number): string {
  const [unit = 'B', size = 1] = units.find(([, least]) => bytes >= least) ?? []
  return `${Math.floor((bytes / size) * 10) / 10} ${unit}`
}

const units = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const
