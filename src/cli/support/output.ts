import { escapeControl } from '../../common/escape-control.js'

/** The output of a command: `process.stdout`, or an object with which a spec collects the texts. */
export interface Output {
  write(text: string): unknown
}

/** Returns a value as formatted JSON, without control characters that a terminal would execute. */
export function toJson(value: unknown): string {
  // JSON leaves some of them unescaped. Its own line breaks are its formatting.
  return escapeControl(JSON.stringify(value, null, 2), '\n')
}

/** Returns a function that writes a line to an output. */
export function printTo(out: Output): (line: string) => void {
  return (line) => void out.write(`${line}\n`)
}
