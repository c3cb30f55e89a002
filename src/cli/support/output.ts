/** The output of a command: `process.stdout`, or an object with which a spec collects the texts. */
export interface Output {
  write(text: string): unknown
}

/** Returns a value as formatted JSON. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

/** Returns a function that writes a line to an output. */
export function printTo(out: Output): (line: string) => void {
  return (line) => void out.write(`${line}\n`)
}
