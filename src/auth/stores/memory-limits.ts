import type { LimitCount, LimitStore } from './limit-store.js'

/** The options of `MemoryLimits`. */
export interface MemoryLimitsOptions {
  /** The number of keys, of which each has its own window (100,000, which take about 16 MB). */
  maxKeys?: number
  /** The clock. */
  now?: () => number
}

interface Window {
  count: number
  /** Milliseconds since 1970. */
  endsAt: number
}

/**
 * Keeps counts in the memory of this process. They are not shared with other processes, and a restart clears
 * them.
 *
 * If there are too many keys, further ones share 4,096 windows, by the first two characters of their hash: a
 * client with many addresses can neither fill the memory nor displace the count of another key.
 */
export class MemoryLimits implements LimitStore {
  /** The windows in the order of their beginnings and ends: all have the same length. */
  private readonly windows = new Map<string, Window>()
  private readonly maxKeys: number
  private readonly now: () => number

  constructor({ maxKeys = 100_000, now = Date.now }: MemoryLimitsOptions = {}) {
    this.maxKeys = maxKeys
    this.now = now
  }

  /** The number of windows in memory. */
  get size(): number {
    return this.windows.size
  }

  async increment(key: string, milliseconds: number): Promise<LimitCount> {
    const now = this.now()
    this.removeEnded(now)
    const name = this.nameOf(key)
    const window = this.windows.get(name) ?? { count: 0, endsAt: now + milliseconds }
    window.count += 1
    this.windows.set(name, window)
    return { count: window.count, milliseconds: window.endsAt - now }
  }

  async decrement(key: string): Promise<void> {
    const window = this.windows.get(this.nameOf(key))
    if (window && window.count > 0) window.count -= 1
  }

  async reset(key: string): Promise<void> {
    this.windows.delete(key)
  }

  /** The name of a key's window: the key, or the shared part of it. */
  private nameOf(key: string): string {
    return this.windows.has(key) || this.windows.size < this.maxKeys ? key : key.slice(0, 2)
  }

  private removeEnded(now: number): void {
    for (const [name, { endsAt }] of this.windows) {
      if (endsAt > now) return
      this.windows.delete(name)
    }
  }
}
