import { statSync } from 'node:fs'
import { Catalogue, frameworkCatalogue, localeFiles } from './catalogue.js'

/** How a folder of texts is read. */
export interface SourceOptions {
  /** Whether the files are read anew when one is changed, added or removed. */
  reload: boolean
  /** The locale that lends its texts to the others. */
  fallback: string
}

/** The texts of an application and of the framework, as the application's folder has them now. */
export class CatalogueSource {
  /** What was read last, without an error. */
  latest: Catalogue
  private stamp: string

  /** @throws BrokenTranslations, DeclarationError when the folder cannot be read */
  constructor(
    private readonly folder: string,
    private readonly options: SourceOptions,
  ) {
    this.stamp = options.reload ? stampOf(folder) : ''
    this.latest = this.read()
  }

  /**
   * The texts, read anew where a file has changed.
   *
   * @throws BrokenTranslations as long as a file cannot be read; what was read before stays the latest
   */
  current(): Catalogue {
    if (!this.options.reload) return this.latest
    const stamp = stampOf(this.folder)
    if (stamp !== this.stamp) {
      this.latest = this.read()
      this.stamp = stamp
    }
    return this.latest
  }

  private read(): Catalogue {
    return new Catalogue(this.folder, { base: frameworkCatalogue(), fallback: this.options.fallback })
  }
}

/** Which files there are, and when they were written. */
function stampOf(folder: string): string {
  return localeFiles(folder)
    .map(({ file }) => {
      const stats = statSync(file, { throwIfNoEntry: false })
      return `${file}:${stats?.mtimeMs}:${stats?.size}`
    })
    .join()
}
