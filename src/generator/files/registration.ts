import type { EditFile } from './files.js'
import { addImport, editLines, endOfRoutes, mentions, withoutLines } from './insertion.js'
import type { Names } from '../arguments/names.js'

/** The step that registers a resource in src/app.ts, above the static files, and imports it. */
export function registration(names: Names): Required<EditFile> {
  const { resource } = names
  const from = `./actions/${names.file}.js`
  return {
    path: 'src/app.ts',
    what: resource,
    insert: (text) =>
      isRegistered(text, resource)
        ? text
        : editLines(text, (lines) => addRoute(addImport(lines, resource, from), resource)),
    remove: (text) => editLines(text, (lines) => removeLines(lines, resource)),
    leftover: (text) =>
      codeOf(text).some((line) => mentions(line, resource))
        ? `src/app.ts still contains ${resource} in code that was changed by hand. Remove it yourself.`
        : undefined,
  }
}

/** Whether src/app.ts already registers a resource, in any form. */
export function isRegistered(text: string, resource: string): boolean {
  return new RegExp(`\\.resource\\([^)]*\\b${resource}\\b`).test(codeOf(text).join('\n'))
}

/** The name of the application's variable in src/app.ts; undefined if no application is created there. */
export function applicationName(text: string): string | undefined {
  return /\b(\w+)\s*(?::\s*App\s*)?=\s*new App\(/.exec(codeOf(text).join('\n'))?.[1]
}

/** Whether src/app.ts creates an API application. */
export function isApi(text: string): boolean {
  return /\bapi:\s*true\b/.test(codeOf(text).join('\n'))
}

/** The lines of a text without its comments. */
function codeOf(text: string): string[] {
  return text
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .split('\n')
    .map((line) => line.replace(/(^|\s)\/\/.*$/, ''))
}

/** Inserts the registration after all routes and above the static files, which match all remaining paths. */
function addRoute(lines: readonly string[], resource: string): string[] {
  const app = applicationName(lines.join('\n')) ?? 'app'
  const below = new RegExp(
    `^\\s*(${app}\\.static\\(|export default|return ${app}\\b|(await )?${app}\\.listen\\()`,
  )
  const { index, indent } = endOfRoutes(lines, below)
  const end = lines.some((line) => line.startsWith('import') && line.endsWith(';')) ? ';' : ''

  // Another call than `use`, or the last line of a call of several lines.
  const isRoute = /^\s*(\w+\.(?!use\b)\w+\(|[)}\]])/.test(lines[index - 1] ?? '')
  // A blank line separates the registration from other code than routes.
  const isApart = (lines[index] ?? '') === '' && !isRoute
  return lines.toSpliced(index, 0, ...(isApart ? [''] : []), `${indent}${app}.resource(${resource})${end}`)
}

/**
 * Removes the registration and the import. If the resource is also used elsewhere in the file, the import stays, because
 * without it the application would not compile.
 */
function removeLines(lines: readonly string[], resource: string): readonly string[] {
  const find = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).slice(0, 1)
  const unregistered = withoutLines(lines, find(new RegExp(`^\\s*\\w+\\.resource\\(${resource}\\);?$`)))
  const imported = find(new RegExp(`^import \\{ ${resource} \\} from .*$`))
  const code = codeOf(withoutLines(unregistered, imported).join('\n'))
  return code.some((line) => mentions(line, resource)) ? unregistered : withoutLines(unregistered, imported)
}
