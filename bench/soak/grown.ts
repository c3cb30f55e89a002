import { median } from '../shared/statistics.js'

/** By how much a measured number may grow between the second and the last quarter of a run: a part of it, and a number. */
export type Growth<Sample> = Partial<Record<keyof Sample, [part: number, number: number]>>

/** A sentence for each number that has grown by more. */
export function grown<Sample extends object>(samples: readonly Sample[], mayGrow: Growth<Sample>): string[] {
  const quarter = Math.floor(samples.length / 4)
  const typical = (part: readonly Sample[], name: string): number =>
    median(part.map((sample) => Number(Reflect.get(sample, name))))
  return Object.entries<[number, number]>(mayGrow as Record<string, [number, number]>).flatMap(
    ([name, [part, number]]) => {
      const before = typical(samples.slice(quarter, 2 * quarter), name)
      const after = typical(samples.slice(-quarter), name)
      return after > before * (1 + part) + number ? [`${name} has grown from ${before} to ${after}.`] : []
    },
  )
}

/** Rounded to a tenth. */
export function megabytes(bytes: number): number {
  return Math.round((bytes / 1024 / 1024) * 10) / 10
}
