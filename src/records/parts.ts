/** The number of keys in one statement, which may have each twice. SQLite accepts 32,766 parameters. */
const maxKeys = 10_000

/** Runs a query for any number of keys, some in each statement. Returns all results. */
export async function inParts<Key, Result>(
  keys: readonly Key[],
  query: (part: readonly Key[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  if (keys.length <= maxKeys) return keys.length > 0 ? query(keys) : []
  const results: (readonly Result[])[] = []
  for (const part of splitInParts(keys)) results.push(await query(part))
  return results.flat()
}

/** Divides a list into parts of at most some elements. */
export function splitInParts<Item>(items: readonly Item[], most = maxKeys): (readonly Item[])[] {
  const length = Math.ceil(items.length / most)
  return Array.from({ length }, (_part, index) => items.slice(index * most, (index + 1) * most))
}

/** Whether there are more keys than one statement may contain. */
export function exceedsPart(keys: readonly unknown[]): boolean {
  return keys.length > maxKeys
}

/** Adds the counts of the parts. */
export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
