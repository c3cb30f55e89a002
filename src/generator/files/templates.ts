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

/** A file that a generator can write. */
export interface ScaffoldFile {
  /** The path of its template, relative to the folder with scaffolds: `resource/model.ts.ejs`. Only `.ejs` files are rendered. */
  scaffold: string
  /** Its path in the application: `src/models/%singular%.ts`. */
  target: string
}

/**
 * Renders files. A template in the application's own `scaffolds` folder overrides the framework's.
 *
 * @param application the application's folder
 * @param paths the values of the %words% in targets
 * @param locals the variables of the templates
 */
export function renderFiles(
  application: string,
  files: readonly ScaffoldFile[],
  paths: Readonly<Record<string, string>>,
  locals: object,
): Rendered[] {
  const own = join(application, 'scaffolds')
  return files
    .map(({ scaffold, target }) => {
      const [file = ''] = [join(own, scaffold), join(frameworkScaffolds, scaffold)].filter((it) =>
        existsSync(it),
      )
      return { path: fill(target, paths), content: contentOf(file, locals, [own, frameworkScaffolds]) }
    })
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/**
 * Returns the files of several scaffolds that are whole folders, like `auth/web`. Their paths in a folder are those in the
 * application. If two folders have the same path, the file of the later one is used.
 */
export function filesOfScaffolds(scaffolds: readonly string[]): ScaffoldFile[] {
  const files = scaffolds.flatMap((scaffold) =>
    filesIn(join(frameworkScaffolds, scaffold)).map((name) => {
      const path = name.replaceAll(sep, '/')
      return { scaffold: `${scaffold}/${path}`, target: path.replace(/\.ejs$/, '') }
    }),
  )
  return [...new Map(files.map((file) => [file.target, file])).values()]
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
