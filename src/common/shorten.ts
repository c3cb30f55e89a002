/** Shortens a text to a number of whole characters, of which the last one is `…`. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  return `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
