/** Writes JSON in ASCII, which every character set can store. An emoji becomes two escapes. */
export function asciiJson(data: unknown): string {
  return JSON.stringify(data).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
