import type { LimitCount, LimitStore } from './limit-store.js'

/** The number of keys after which expired ones are removed. */
const maxKeys = 10_000

interface Window {
  count: number
  /** Milliseconds since 1970. */
  endsAt: number
}

/** Keeps counts in the memory of this process. They are not shared with other processes, and a restart clears them. */
export class MemoryLimits implements LimitStore {
  private readonly windows = new Map<string, Window>()

  constructor(private readonly now: () => number = Date.now) {}

  async increment(key: string, milliseconds: number): Promise<LimitCount> {
    const now = this.now()
    const previous = this.windows.get(key)
    const current = previous && previous.endsAt > now ? previous : { count: 0, endsAt: now + milliseconds }
    current.count += 1
    // The key moves to the end, so the first keys are the oldest.
    if (current !== previous) this.windows.delete(key)
    this.windows.set(key, current)
    if (this.windows.size > maxKeys) this.prune(now)
    return { count: current.count, milliseconds: current.endsAt - now }
  }

  async decrement(key: string): Promise<void> {
    const window = this.windows.get(key)
    if (window && window.count > 0) window.count -= 1
  }

  async reset(key: string): Promise<void> {
    this.windows.delete(key)
  }

  /** Removes expired windows. If there are still too many, the oldest one is removed, too. */
  private prune(now: number): void {
    for (const [key, { endsAt }] of this.windows) if (endsAt <= now) this.windows.delete(key)
    const [oldest] = this.windows.size > maxKeys ? this.windows.keys() : []
    if (oldest !== undefined) this.windows.delete(oldest)
  }
}
