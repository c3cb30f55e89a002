import { statSync } from 'node:fs'
import { Catalog, frameworkCatalog, localeFiles } from './catalog.js'

/** The current translations of an application and of the framework. */
export class CatalogSource {
  /** The catalog that was last read without an error. */
  latest: Catalog
  private stamp: string

  /** @throws BrokenTranslations, DeclarationError when the folder cannot be read */
  constructor(
    private readonly folder: string,
    private readonly fallback: string,
  ) {
    this.stamp = stampOf(folder)
    this.latest = this.read()
  }

  /**
   * Returns the translations. Reads them again if a file was changed, added or removed.
   *
   * @throws BrokenTranslations as long as a file cannot be read; `latest` remains the previous catalog
   */
  reload(): Catalog {
    const stamp = stampOf(this.folder)
    if (stamp !== this.stamp) {
      this.latest = this.read()
      this.stamp = stamp
    }
    return this.latest
  }

  private read(): Catalog {
    return new Catalog(this.folder, { base: frameworkCatalog(), fallback: this.fallback })
  }
}

/** Returns a string that changes with the names, times and sizes of the files. */
function stampOf(folder: string): string {
  return localeFiles(folder)
    .map(({ file }) => {
      const stats = statSync(file, { throwIfNoEntry: false })
      return `${file}:${stats?.mtimeMs}:${stats?.size}`
    })
    .join()
}
