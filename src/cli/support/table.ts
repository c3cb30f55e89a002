/** Text in columns: `METHOD | HOST | PATH`. Columns are as wide as their widest cell. */
export function table(head: string[] | undefined, rows: string[][]): string {
  const all = head ? [head, ...rows] : rows
  const widths = all.reduce<number[]>(
    (widest, row) => row.map((it, n) => Math.max(it.length, widest[n] ?? 0)),
    [],
  )
  const separator = head ? ' | ' : '  '
  return all
    .map((row) => row.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(separator))
    .map((line) => line.trimEnd())
    .join('\n')
}
