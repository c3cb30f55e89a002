import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { CommandError } from '../command-errors.js'
import { withShortComment } from './arguments/command-line.js'
import { isCreate, type FileAction } from './files/files.js'
import { translationWarning, translationsOf } from './locale-generator.js'

/** The steps that `kit destroy` undoes, and its warnings about files. */
export interface Destruction {
  actions: FileAction[]
  /** Returns a warning about a file: it has been edited, its migration has been run, or another file imports it. */
  remark(path: string): Promise<string | undefined>
}

/** Whether a migration has been run, by its name: `CreatePosts1795132800000`. Rejects if this cannot be determined. */
export type HasRun = (migration: string) => Promise<boolean>

/**
 * Returns the destruction of the files of a generator.
 *
 * @param own the steps of the generator
 */
export function destructionOf(
  folder: string,
  own: readonly FileAction[],
  hasRun: HasRun = () => Promise.resolve(false),
): Destruction {
  const translations = own.flatMap(({ path }) =>
    path.startsWith('locales/') ? translationsOf(folder, path) : [],
  )
  const actions = [...own, ...translations]

  async function remark(path: string): Promise<string | undefined> {
    // Git may have written Windows line endings.
    const text = readFileSync(join(folder, path), 'utf8').replaceAll('\r\n', '\n')
    const isDeleted = actions.some((action) => isCreate(action) && action.path === path)
    const importers = isDeleted ? importersOf(folder, path, actions) : []
    const remarks = [
      importers.length > 0 && `${importers.join(', ')} ${importers.length > 1 ? 'need' : 'needs'} ${path}.`,
      translations.some((file) => file.path === path) && translationWarning(folder, path),
      (await runRemark(path, text, hasRun)) ?? editRemark(path, text),
    ]
    return remarks.filter(Boolean).join('\n') || undefined
  }

  /** A warning about a file that has been edited, with the methods that differ: handlers, for example. */
  function editRemark(path: string, text: string): string | undefined {
    const generated = own.filter(isCreate).find((action) => action.path === path)?.content
    if (generated === undefined || withShortComment(generated) === withShortComment(text)) return undefined
    const methods = changedMethods(generated, text).join(', ')
    return `${path} has been edited since it was generated${methods && ` (${methods})`}.`
  }
  return { actions, remark }
}

/** @throws CommandError when files of the steps exist, because no command is recorded that has generated them */
export function rejectUnrecorded(
  folder: string,
  kind: 'resource' | 'model',
  word: string,
  actions: readonly FileAction[],
): void {
  const files = actions.filter((action) => isCreate(action) && existsSync(join(folder, action.path)))
  if (files.length === 0) return
  const place = kind === 'resource' ? 'handlers' : 'migration'
  throw new CommandError(
    `The command that generated the ${kind} "${word}" is not known, because its files are from an older version or were ` +
      `written by hand. Write it above the class of the ${place}: // kit generate ${kind} ${word} name:type ... ` +
      `Or delete the files yourself: ${files.map(({ path }) => path).join(', ')}.`,
  )
}

/** The methods of a class that differ between two texts. */
function changedMethods(text: string, other: string): string[] {
  const [methods, others] = [methodsOf(text), methodsOf(other)]
  return [...new Set([...methods.keys(), ...others.keys()])].filter(
    (name) => methods.get(name) !== others.get(name),
  )
}

/** The methods in a formatted file, by their names. */
function methodsOf(text: string): Map<string, string> {
  const methods = text.matchAll(/^ {2}(?:\w+ )*(\w+)\(.*\{\n[^]*?^ {2}\}$|^ {2}(?:\w+ )*(\w+)\(.*\{\}$/gm)
  return new Map([...methods].map(([method, name, empty]) => [name ?? empty ?? '', method]))
}

/** A warning about a migration that has been run, or whose state cannot be determined. */
async function runRemark(path: string, text: string, hasRun: HasRun): Promise<string | undefined> {
  const migration = /export class (\w+\d{13}) implements MigrationInterface/.exec(text)?.[1]
  if (migration === undefined) return undefined
  try {
    const isRun = await hasRun(migration)
    return isRun
      ? `${path} has been run, so its table stays. Run \`kit db rollback\` first, or \`kit db reset\` afterwards, which deletes all records.`
      : undefined
  } catch (error) {
    const [reason] = String(error instanceof Error ? error.message : error).split('\n')
    return `It is not known whether ${path} has been run: ${reason}`
  }
}

/** The source files that import a file, except those that the steps themselves delete or edit, such as src/app.ts. */
export function importersOf(folder: string, path: string, actions: readonly FileAction[]): string[] {
  const own = new Set(actions.map((action) => action.path))
  return ['src', 'spec']
    .filter((name) => existsSync(join(folder, name)))
    .flatMap((name) =>
      readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' }).map((it) => `${name}/${it}`),
    )
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts') && !own.has(name))
    .filter((name) =>
      importsOf(join(folder, name)).some((it) => posix.join(posix.dirname(name), it) === path),
    )
    .toSorted()
}

/** The relative paths of the files that a file imports: `../models/post.ts`. */
function importsOf(file: string): string[] {
  const imports = readFileSync(file, 'utf8').matchAll(/ from ['"](\.[^'"]+)\.js['"]/g)
  return [...imports].map(([, path]) => `${path}.ts`)
}
