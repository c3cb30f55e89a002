/** Writes JSON in ASCII, which every character set of a database can store. An emoji becomes two escapes, as JSON requires. */
export function asciiJson(data: unknown): string {
  return JSON.stringify(data).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
