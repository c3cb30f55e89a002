/** The depth at which a part of a document is named: `paths /posts get`, `components schemas Post`. */
const maxDepth = 3

/** Returns the parts of two documents that differ: `changed: paths /posts get`. */
export function differences(before: unknown, after: unknown, place: readonly string[] = []): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  if (before === undefined) return [`added: ${place.join(' ')}`]
  if (after === undefined) return [`removed: ${place.join(' ')}`]
  if (place.length === maxDepth || !isObject(before) || !isObject(after))
    return [`changed: ${place.join(' ') || 'the whole document'}`]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const inside = names.flatMap((name) => differences(before[name], after[name], [...place, name]))
  return inside.length > 0 ? inside : [`changed: the order of ${place.join(' ') || 'the document'}`]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
