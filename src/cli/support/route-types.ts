import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { App } from '../../application/application.js'
import { nearest } from '../../naming/spelling.js'

/** The file with the types of an application's routes. */
function typesFile(root: string): string {
  return join(root, '.kit/routes.d.ts')
}

/** Whether the types of the routes have been written. */
export function hasRouteTypes(root: string): boolean {
  return existsSync(typesFile(root))
}

/** Returns the types of an application's routes: each name, with the parameters of its path. */
export function routeTypes({ routes }: Pick<App, 'routes'>): string {
  const paths = new Map<string, string>()
  for (const { name, pattern } of routes) {
    if (name === undefined || paths.has(name)) continue
    const member = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
    paths.set(name, `    ${member}: [${pattern.params.map((one) => `'${one}'`).join(', ')}]`)
  }
  return [
    '// `kit build` and `kit dev` write this file. It lists the names for ctx.pathFor.',
    "import 'resource-kit'",
    '',
    "declare module 'resource-kit' {",
    '  interface Paths {',
    ...paths.values(),
    '  }',
    '}',
    '',
  ].join('\n')
}

/**
 * Writes the types of the routes.
 *
 * @returns whether they have changed
 */
export function writeRouteTypes(root: string, types: string): boolean {
  const file = typesFile(root)
  if (existsSync(file) && readFileSync(file, 'utf8') === types) return false
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, types)
  return true
}

/**
 * Writes the types of the routes of a compiled application, which another process loads. If it cannot be loaded, the file
 * stays, and a line says so.
 *
 * @param folder the compiled files
 * @returns whether they have changed
 */
export async function readRouteTypes(root: string, folder: string): Promise<boolean> {
  const before = hasRouteTypes(root) ? readFileSync(typesFile(root), 'utf8') : ''
  try {
    const kit = join(import.meta.dirname, '../main.js')
    await promisify(execFile)(process.execPath, [kit, 'routes', '--types', '--built', folder], { cwd: root })
  } catch (error) {
    const { stderr = '' }: { stderr?: string } = Object(error)
    console.error(
      `The application could not be loaded, so the names of its routes in .kit/routes.d.ts may be old. Correct the error, and build again:\n${stderr.trim()}`,
    )
  }
  return hasRouteTypes(root) && readFileSync(typesFile(root), 'utf8') !== before
}

/** Adds the nearest name to the compiler's messages about names of routes. */
export function withSuggestions(root: string, output: string): string {
  if (!hasRouteTypes(root)) return output
  const names = [...readFileSync(typesFile(root), 'utf8').matchAll(/^ {4}(\w+): \[/gm)].map(
    ([, name = '']) => name,
  )
  return output.replaceAll(
    /^.*Argument of type '"(\w+)"' is not assignable to parameter of type .*$/gm,
    (line, name: string) => {
      const near = names.includes(name) ? undefined : nearest(name, names)
      return near === undefined ? line : `${line} Did you mean "${near}"?`
    },
  )
}
