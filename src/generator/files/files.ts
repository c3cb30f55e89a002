import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { ChangeFailed, FilesExist } from '../../command-errors.js'

/** Creates a whole file. */
export interface CreateFile {
  /** The path relative to the application's folder, with slashes. */
  path: string
  content: string
}

/** A change in an existing file, which can be undone. */
export interface EditFile {
  path: string
  /** The inserted code, as messages show it: `app.resource(PostsResource)`. */
  what: string
  insert(text: string): string
  remove(text: string): string
  /** Returns a message about the remaining manual work, after or instead of the removal; undefined if there is none. */
  leftover?(text: string): string | undefined
}

/** One step of a generator: `generate` does it, `destroy` undoes it. */
export type FileAction = CreateFile | EditFile

/** Prints a line to the user. */
export type Print = (line: string) => void

/** The options of `generate`. */
export interface GenerateOptions {
  /** Whether existing files are overwritten. */
  force?: boolean
  /** Whether the steps are only printed. */
  dryRun?: boolean
  print?: Print
}

/** The options of `destroy`. */
export interface DestroyOptions {
  /** Whether a step may be undone. */
  confirm(question: string): Promise<boolean>
  /** Returns a warning about the file of a step, which is printed before the question. */
  remark?(path: string): Promise<string | undefined>
  print?: Print
}

/**
 * Does all steps, or none: if one fails, the others are undone.
 *
 * @throws FilesExist when a file already exists, ChangeFailed when one cannot be written
 */
export function generate(
  folder: string,
  actions: readonly FileAction[],
  options: GenerateOptions = {},
): void {
  const { force = false, dryRun = false, print = () => undefined } = options
  const existing = actions.filter((action) => isCreate(action) && exists(join(folder, action.path)))
  if (existing.length > 0 && !force) throw new FilesExist(existing.map(({ path }) => path))

  // A set, because several steps can change the same file.
  const lines = new Set<string>()
  changeFiles(folder, actions, 'write', (action, before) => {
    const after = isCreate(action) ? action.content : action.insert(before ?? '')
    lines.add(`${verb(before, after).padStart(9)}  ${action.path}`)
    return dryRun ? before : after
  })
  lines.forEach(print)
}

/**
 * Asks about all steps, and then undoes those that were confirmed, or none: if one cannot be undone, the files of the others
 * are restored. Folders that become empty are deleted, too.
 *
 * @returns whether there was anything to undo
 * @throws ChangeFailed when a file cannot be deleted or changed
 */
export async function destroy(
  folder: string,
  actions: readonly FileAction[],
  { confirm, remark, print = () => undefined }: DestroyOptions,
): Promise<boolean> {
  const present = actions.filter((action) => isDone(folder, action))
  const agreed = new Set<FileAction>()
  for (const action of present) {
    const note = await remark?.(action.path)
    if (note) print(note)
    if (await confirm(questionOf(action))) agreed.add(action)
  }
  changeFiles(folder, [...agreed], 'destroy', (action, before = '') =>
    isCreate(action) ? undefined : action.remove(before),
  )
  // A set, because several steps can change the same file.
  const lines = present.map((action) => {
    const word = !agreed.has(action) ? 'keep' : isCreate(action) ? 'delete' : 'update'
    return `${word.padStart(9)}  ${action.path}`
  })
  new Set(lines).forEach((line) => print(line))
  if (present.length > 0) leftoversOf(folder, actions).forEach(print)
  return present.length > 0
}

/** Messages about the remaining manual work, except for the steps that the user does not want to undo. */
function leftoversOf(folder: string, actions: readonly FileAction[]): string[] {
  return actions.flatMap((action) => {
    // A step that is still done was declined.
    if (isCreate(action) || isDone(folder, action) || !exists(join(folder, action.path))) return []
    return action.leftover?.(readFileSync(join(folder, action.path), 'utf8')) ?? []
  })
}

function questionOf(action: FileAction): string {
  return isCreate(action) ? `Delete ${action.path}?` : `Remove ${action.what} from ${action.path}?`
}

/**
 * Changes the file of each step, or none: if one cannot be changed, the others are restored.
 *
 * @param change returns the new text of a file; undefined deletes it, and the folders that become empty
 * @throws ChangeFailed with the error of the file
 */
function changeFiles(
  folder: string,
  actions: readonly FileAction[],
  attempt: 'write' | 'destroy',
  change: (action: FileAction, before: string | undefined) => string | undefined,
): void {
  const changed = new Map<string, Original>()
  for (const action of actions) {
    const file = join(folder, action.path)
    try {
      const content = exists(file) ? readFileSync(file) : undefined
      const after = change(action, content?.toString())
      if (after === content?.toString()) continue
      const created = mkdirSync(dirname(file), { recursive: true }) ?? file
      const original = content ? { content, mode: lstatSync(file).mode } : { created }
      // Several steps can change the same file.
      if (!changed.has(file)) changed.set(file, original)
      if (after !== undefined) writeFileSync(file, after)
      else removeWithFolders(folder, action.path)
    } catch (error) {
      const lost = [...changed].toReversed().filter(([path, original]) => !restore(path, original))
      throw new ChangeFailed(
        action.path,
        attempt,
        error,
        lost.map(([path]) => relative(folder, path)),
      )
    }
  }
}

/** A file before its change: its content and mode, or the file or the first folder that is created. */
type Original = { content: Buffer; mode: number } | { created: string }

/** Restores a file. Returns whether it is as it was, even if it could neither be changed nor restored. */
function restore(file: string, original: Original): boolean {
  try {
    if ('created' in original) rmSync(original.created, { recursive: true, force: true })
    else {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, original.content, { mode: original.mode })
    }
    return true
  } catch {
    return 'content' in original && exists(file) && readFileSync(file).equals(original.content)
  }
}

/** Whether a step creates a file. */
export function isCreate(action: FileAction): action is CreateFile {
  return 'content' in action
}

/** Whether there is something to undo: a created file, or code that an edit has inserted. */
function isDone(folder: string, action: FileAction): boolean {
  const file = join(folder, action.path)
  // A link to a file is edited, but not deleted.
  if (!existsSync(file) || !(isCreate(action) ? lstatSync(file) : statSync(file)).isFile()) return false
  if (isCreate(action)) return true
  const text = readFileSync(file, 'utf8')
  return action.remove(text) !== text
}

function verb(before: string | undefined, after: string): string {
  if (before === undefined) return 'create'
  return before === after ? 'same' : 'update'
}

/** Whether a path exists, even as a broken link. A path below a file does not exist. */
function exists(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

/** Removes a file, and then the folders above it that have become empty. */
function removeWithFolders(root: string, path: string): void {
  rmSync(join(root, path))
  let parent = dirname(path)
  for (; parent !== '.' && readdirSync(join(root, parent)).length === 0; parent = dirname(parent))
    rmdirSync(join(root, parent))
}
