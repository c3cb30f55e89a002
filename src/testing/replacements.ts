import type { Injector } from '../injection/injector.js'
import type { Replacement } from '../injection/injector.js'

/** Dependencies that tests have replaced, and that are restored together. */
export class Replacements {
  private readonly restorations: Array<() => Promise<void>> = []

  constructor(private readonly injector: Injector) {}

  add(replacements: readonly Replacement[]): void {
    if (replacements.length > 0) this.restorations.push(this.injector.replace(replacements))
  }

  /** Restores the dependencies, the last replaced first. */
  async restore(): Promise<void> {
    for (const restore of this.restorations.splice(0).toReversed()) await restore()
  }
}
