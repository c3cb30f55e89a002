/** Pseudorandom numbers, which are the same for the same seed (mulberry32). */
export class Random {
  constructor(private state: number) {}

  /** A number from 0 to 1, excluding 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** An integer from 0 to `end`, excluding `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  /** One of several items. */
  of<T>(things: readonly [T, ...T[]]): T {
    return things[this.below(things.length)] ?? things[0]
  }

  /** True with this probability. */
  chance(chance: number): boolean {
    return this.next() < chance
  }

  /** Some items, at most `most`. */
  several<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.below(most + 1) }, make)
  }
}
