import { posix } from 'node:path'
import type { Names } from '../arguments/names.js'

/** The import path from one file to another: `src/actions/admin/widgets` and `src/models/widget` -> `../../models/widget.js` */
export function relativePath(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to)
  return `${path.startsWith('.') ? path : `./${path}`}.js`
}

/** The imports of models in a file, in the order of their paths. */
export function modelImportsOf(models: readonly Names[], from: string): { path: string; model: string }[] {
  const paths = new Map(
    models.map(({ model, singular }) => [relativePath(from, `src/models/${singular}`), model]),
  )
  return [...paths].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([path, model]) => ({ path, model }))
}
