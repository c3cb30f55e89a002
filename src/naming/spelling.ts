/** The most similar word for "did you mean"; undefined if over two letters and a third of them differ. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  const candidates = [...words].map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
  const best = candidates.toSorted((a, b) => a.distance - b.distance)[0]
  return best && best.distance <= Math.max(2, word.length / 3) ? best.candidate : undefined
}

/** Whether two words differ by one added, missing, replaced or swapped letter: `lsit` and `list`. */
export function isOneLetterOff(word: string, other: string): boolean {
  const start = countCommonStart(word, other)
  const end = countCommonStart(reverse(word.slice(start)), reverse(other.slice(start)))
  const [a, b] = [word, other].map((text) => text.slice(start, text.length - end)) as [string, string]
  if (a === b) return false
  return (a.length <= 1 && b.length <= 1) || (a.length === 2 && a === reverse(b))
}

function countCommonStart(a: string, b: string): number {
  const difference = [...a].findIndex((letter, index) => letter !== b[index])
  return difference === -1 ? a.length : difference
}

function reverse(text: string): string {
  return [...text].toReversed().join('')
}

/** The number of letters to add, remove, replace or swap between two words (optimal string alignment). */
function editDistance(a: string, b: string): number {
  // Each row has the distances of a beginning of `a` to all beginnings of `b`.
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...b].entries()) {
      const cost = letter === other ? 0 : 1
      const isSwapped = letter === b[j - 1] && other === a[i - 1]
      const swapped = isSwapped ? (before[j - 1] ?? 0) + 1 : Infinity
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + cost, swapped))
    }
    before = row
    row = next
  }
  return row.at(-1) ?? 0
}
