/** Shortens a text to a number of characters, of which the last one is `…`. It does not split a character into its surrogates. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  return `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
