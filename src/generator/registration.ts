import type { Names } from './names.js'
import type { EditFile } from './files.js'

/** The line of src/app.ts that registers a resource, above the static catch-all, and its import. */
export function registration(names: Names): EditFile {
  const { resource } = names
  const from = `./actions/${names.file}.js`
  return {
    path: 'src/app.ts',
    what: resource,
    insert: (text) =>
      isRegistered(text, resource) ? text : addRoute(addImport(text, resource, from), resource),
    remove: (text) => removeLines(text, resource),
  }
}

/** Whether src/app.ts registers a resource already, in whatever way. */
export function isRegistered(text: string, resource: string): boolean {
  return new RegExp(`\\.resource\\([^)]*\\b${resource}\\b`).test(text)
}

/** The name of the application in src/app.ts; undefined where none is made. */
export function applicationName(text: string): string | undefined {
  return /\b(\w+)\s*=\s*new App\(/.exec(text)?.[1]
}

/** Whether src/app.ts makes an API application. */
export function isApi(text: string): boolean {
  return /new App\(\s*\{[^}]*\bapi:\s*true\b/.test(text)
}

/** Adds the import where it belongs in the order of the paths. */
function addImport(text: string, resource: string, from: string): string {
  const line = `import { ${resource} } from '${from}'`
  if (new RegExp(`import [^;]*\\b${resource}\\b[^;]* from `).test(text)) return text
  const lines = text.split('\n')
  const imports = lines.flatMap((text, index) => {
    const path = /^(?:import\b.*|\} )from ['"](.+)['"];?$/.exec(text)?.[1]
    return path === undefined ? [] : [{ index, path }]
  })
  const next = imports.find(
    ({ index, path }) => path.startsWith('.') && path > from && lines[index]?.startsWith('import'),
  )
  lines.splice(next?.index ?? (imports.at(-1)?.index ?? -1) + 1, 0, line)
  return lines.join('\n')
}

/** Adds the registration after all routes, and above the static files, which take every path that is left. */
function addRoute(text: string, resource: string): string {
  const app = applicationName(text) ?? 'app'
  const lines = text.split('\n')
  const last = new RegExp(`^(${app}\\.static\\(|export default|(await )?${app}\\.listen\\()`)
  let index = lines.findIndex((line) => last.test(line))
  if (index === -1) index = lines.length
  while (index > 0 && /^\s*(\/\/.*|\/?\*.*)?$/.test(lines[index - 1] ?? '')) index -= 1

  const isRoute = /^(\w+\.(?!use\b)\w+\(|[)}\]])/.test(lines[index - 1] ?? '')
  const isApart = (lines[index] ?? '') === '' && !isRoute
  const inserted = [...(isApart ? [''] : []), `${app}.resource(${resource})`]
  lines.splice(index, 0, ...inserted)
  return lines.join('\n')
}

/** Removes import and registration, and the blank line that is then one too many. */
function removeLines(text: string, resource: string): string {
  const lines = text.split('\n')
  const own = new RegExp(`^import \\{ ${resource} \\} from .*$|^\\w+\\.resource\\(${resource}\\);?$`)
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    if (!own.test(lines[index] ?? '')) continue
    lines.splice(index, 1)
    if ((lines[index - 1] ?? '') === '' && (lines[index] ?? '') === '') lines.splice(index, 1)
  }
  return lines.join('\n')
}
