import { PerRequest } from '../../common/per-request.js'
import type { FileAttribute, FileProblem } from '../../models/attributes/file-attributes.js'

/** How the files of a route's forms are received, if an extension stores them. */
export interface UploadPlan {
  /** The maximum bytes of all files of a request, if it is more than that of the application. */
  filesLimit: number
  /** The folder of the temporary files. Its disk is that of the store, so that no copy is made. */
  folder: string
  /** The names of the parts with files of lines: `lines[0][photo]`. The body then has their paths, from which the lines get their files. */
  lines?: RegExp | undefined
}

/** The plans of the routes that have one. */
export const uploadPlans = new WeakMap<object, UploadPlan>()

/** The plan with the highest limit of the routes that a form can select. */
export function planOf(routes: readonly object[]): UploadPlan | undefined {
  const plans = routes.flatMap((route) => uploadPlans.get(route) ?? [])
  return plans.toSorted((one, other) => other.filesLimit - one.filesLimit)[0]
}

/**
 * Reads the files that a request has for an attribute of a record, beside the value in its body. Returns the
 * new value of the attribute, or undefined if it does not change, and what is wrong with it.
 */
export type FileReader = (
  record: object,
  attribute: FileAttribute,
  value: unknown,
) => { value?: unknown; problem?: FileProblem | undefined }

/** The reader of a request, which an extension sets before the handler runs. */
export const fileReader = new PerRequest<FileReader>()
