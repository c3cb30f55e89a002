import { escapeControl } from '../../common/escape-control.js'

/** Returns rows in columns, `METHOD | HOST | PATH`; without rows, `none`. Escapes control characters. */
export function table(head: string[] | undefined, rows: string[][], none?: string): string {
  if (rows.length === 0 && none !== undefined) return none
  const cells = rows.map((row) => row.map((cell) => escapeControl(cell)))
  const all = head ? [head, ...cells] : cells
  const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const separator = head ? ' | ' : '  '
  const lines = all.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(separator))
  return lines.map((line) => line.trimEnd()).join('\n')
}
