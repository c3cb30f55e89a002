import type { EditFile } from './files.js'
import { addImport, editLines, mentions } from './insertion.js'
import type { Names } from '../arguments/names.js'

/** The step that registers a resource in src/app.ts, above the static files, and imports it. */
export function registration(names: Names): EditFile {
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
  const last = new RegExp(
    `^\\s*(${app}\\.static\\(|export default|return ${app}\\b|(await )?${app}\\.listen\\()`,
  )
  const found = lines.findIndex((line) => last.test(line))
  const indent = /^\s*/.exec(lines[found] ?? '')?.[0] ?? ''
  const end = lines.some((line) => line.startsWith('import') && line.endsWith(';')) ? ';' : ''

  let index = found === -1 ? lines.length : found
  while (index > 0 && /^\s*(\/\/.*|\/?\*.*)?$/.test(lines[index - 1] ?? '')) index -= 1
  const isRoute = /^\s*(\w+\.(?!use\b)\w+\(|[)}\]])/.test(lines[index - 1] ?? '')
  const isApart = (lines[index] ?? '') === '' && !isRoute
  return lines.toSpliced(index, 0, ...(isApart ? [''] : []), `${indent}${app}.resource(${resource})${end}`)
}

/**
 * Removes the registration, its superfluous blank line, and the import. If the resource is also used elsewhere in the file,
 * the import stays, because without it the application would not compile.
 */
function removeLines(lines: readonly string[], resource: string): string[] {
  const unregistered = without(lines, new RegExp(`^\\s*\\w+\\.resource\\(${resource}\\);?$`))
  const imported = new RegExp(`^import \\{ ${resource} \\} from .*$`)
  const code = codeOf(unregistered.join('\n')).filter((line) => !imported.test(line))
  return code.some((line) => mentions(line, resource)) ? unregistered : without(unregistered, imported)
}

function without(lines: readonly string[], pattern: RegExp): string[] {
  const index = lines.findIndex((line) => pattern.test(line))
  if (index === -1) return [...lines]
  const rest = lines.toSpliced(index, 1)
  const isTooMany = (rest[index - 1] ?? '') === '' && (rest[index] ?? '') === ''
  return isTooMany ? rest.toSpliced(index < rest.length ? index : index - 1, 1) : rest
}
