/** The middle of some numbers. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The number that this share of the others is below. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** The middle of some numbers, and between what half of them lies. */
export interface Spread {
  median: number
  low: number
  high: number
}

/** The median and the quartiles. */
export function spread(values: readonly number[]): Spread {
  return { median: median(values), low: quantile(values, 0.25), high: quantile(values, 0.75) }
}
