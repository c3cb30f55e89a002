import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { App } from '../../application/application.js'
import { nearest } from '../../naming/spelling.js'

/** The exit status of loading an application for `kit build`, if a declaration is wrong. */
export const MISTAKE = 3

/** The file with the types of an application's routes. */
const FILE = '.kit/routes.d.ts'

/** Returns the types of the routes that were written last; undefined if there is no such file. */
export function writtenTypes(root: string): string | undefined {
  return existsSync(join(root, FILE)) ? readFileSync(join(root, FILE), 'utf8') : undefined
}

/** Returns the types of an application's routes: each name, with the parameters of its path. */
export function routeTypes({ routes }: Pick<App, 'routes'>): string {
  const paths = new Map<string, string>()
  for (const { name, pattern } of routes) {
    if (name === undefined || paths.has(name)) continue
    const member = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
    paths.set(name, `    ${member}: [${pattern.params.map((one) => `'${one}'`).join(', ')}]`)
  }
  return `// \`kit build\` and \`kit dev\` write this file. It lists the names for ctx.pathFor.
import 'resource-kit'

declare module 'resource-kit' {
  interface Paths {
${[...paths.values()].join('\n')}
  }
}
`
}

/**
 * Writes the types of the routes.
 *
 * @returns whether they have changed
 */
export function writeRouteTypes(root: string, types: string): boolean {
  if (writtenTypes(root) === types) return false
  mkdirSync(join(root, '.kit'), { recursive: true })
  writeFileSync(join(root, FILE), types)
  return true
}

/**
 * Writes the types of the routes of a compiled application, which another process loads and checks. If the
 * application cannot be loaded, the file does not change.
 *
 * @param folder the compiled files
 * @param report receives the reason why the application cannot be loaded
 * @returns the first mistake in the declarations of the application
 */
export async function updateRouteTypes(
  root: string,
  folder: string,
  report: (reason: string) => void,
): Promise<string | undefined> {
  try {
    const kit = join(import.meta.dirname, '../main.js')
    await promisify(execFile)(process.execPath, [kit, 'routes', '--types', '--built', folder], { cwd: root })
  } catch (error) {
    const { code, stderr = '' }: { code?: unknown; stderr?: string } = Object(error)
    if (code === MISTAKE) return stderr.trim()
    report(
      `The application could not be loaded, so the names of its routes in .kit/routes.d.ts may be old. Correct the error, and build again:\n${stderr.trim()}`,
    )
  }
  return undefined
}

/**
 * Adds advice to the compiler's messages: the nearest name to those about names of routes, and `app.extend`
 * to those about objects that are no middleware.
 */
export function withSuggestions(root: string, output: string): string {
  const members = writtenTypes(root)?.matchAll(/^ {4}(\w+): \[/gm) ?? []
  const names = [...members].map(([, name = '']) => name)
  return output
    .replaceAll(
      /^.*Argument of type '"(\w+)"' is not assignable to parameter of type .*$/gm,
      (line, name: string) => {
        const near = names.includes(name) ? undefined : nearest(name, names)
        return near === undefined ? line : `${line} Did you mean "${near}"?`
      },
    )
    .replaceAll(
      /^.*Argument of type '[A-Z]\w*' is not assignable to parameter of type 'AnyMiddleware'\.$/gm,
      '$& Register extensions, such as jobs, with app.extend().',
    )
}
