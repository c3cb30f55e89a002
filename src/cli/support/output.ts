/** Where a command writes: `process.stdout`, or what a spec collects it in. */
export interface Output {
  write(text: string): unknown
}

/** A value as JSON that people can read. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

/** A function that writes lines there. */
export function printTo(out: Output): (line: string) => void {
  return (line) => void out.write(`${line}\n`)
}
