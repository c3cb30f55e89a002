import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import ejs from 'ejs'
import { breakLongLines, closeClasses } from './lines.js'

/** A file that a scaffold writes. */
export interface Rendered {
  /** The path relative to the application's folder, with slashes. */
  path: string
  content: string
}

/** The framework's own scaffolds. */
export const frameworkScaffolds = join(import.meta.dirname, '../../../../scaffolds')

/**
 * Renders the files of several scaffolds, for example `resource/common` and `resource/web`. If two scaffolds have a file
 * with the same path, the later one is used. A file in the application's own `scaffolds` folder overrides the framework's.
 *
 * @param application the application's folder
 * @param paths the values of the %words% in paths
 * @param locals the variables of the templates
 */
export function renderScaffolds(
  application: string,
  scaffolds: ReadonlyArray<string | false | undefined>,
  paths: Readonly<Record<string, string>>,
  locals: object,
): Rendered[] {
  const sources = new Map<string, string>()
  const own = join(application, 'scaffolds')
  for (const scaffold of scaffolds) {
    if (!scaffold) continue
    for (const root of [frameworkScaffolds, own]) {
      for (const name of filesIn(join(root, scaffold))) sources.set(name, join(root, scaffold, name))
    }
  }
  return [...sources]
    .map(([name, file]) => ({
      path: fill(name.replaceAll(sep, '/').replace(/\.ejs$/, ''), paths),
      content: contentOf(file, locals, [own, frameworkScaffolds]),
    }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/** The paths of the files in a folder, relative to it; none if it does not exist. */
export function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}

/** Replaces each `%word%` that has a value: `templates/%plural%/new.pug` -> `templates/posts/new.pug` */
export function fill(text: string, words: Readonly<Record<string, string>>): string {
  return text.replaceAll(/%(\w+)%/g, (whole, word: string) => words[word] ?? whole)
}

/** @param views the folders in which included templates are looked up, that of the application first */
function contentOf(file: string, locals: object, views: [own: string, framework: string]): string {
  const content = readFileSync(file, 'utf8')
  if (!file.endsWith('.ejs')) return content
  // The application's templates may change while the process runs.
  const cache = !existsSync(views[0])
  const text = ejs.render(content, { ...locals }, { filename: file, escape: String, views, cache })
  return file.endsWith('.ts.ejs') ? breakLongLines(closeClasses(text)) : text
}
