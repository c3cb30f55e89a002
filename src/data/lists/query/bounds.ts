/** The limits of a query. */
export const bounds = {
  conditions: 20,
  /** The values of an `in` filter. */
  values: 100,
  /** The characters of a value, and of a word to search. */
  characters: 200,
  sorts: 5,
  includes: 3,
  words: 8,
} as const

/** Whether a text has too many characters. */
export function isTooLong(text: string): boolean {
  return text.length > bounds.characters && Array.from(text).length > bounds.characters
}
