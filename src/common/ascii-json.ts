/** Writes JSON in ASCII, which every character set of a database can store. */
export function asciiJson(data: unknown): string {
  return JSON.stringify(data).replaceAll(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
