import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DestroyFailed, FilesExist, WriteFailed } from '../../command-errors.js'

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
  leftover(text: string): string | undefined
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
  /** Returns a warning about a file before it is deleted. */
  remark?(path: string): Promise<string | undefined>
  print?: Print
}

/**
 * Does all steps, or none: if one fails, the others are undone.
 *
 * @throws FilesExist when a file already exists, WriteFailed when one cannot be written
 */
export function generate(
  folder: string,
  actions: readonly FileAction[],
  options: GenerateOptions = {},
): void {
  const { force = false, dryRun = false, print = () => undefined } = options
  const existing = actions.filter((action) => isCreate(action) && exists(join(folder, action.path)))
  if (existing.length > 0 && !force) throw new FilesExist(existing.map(({ path }) => path))

  const undos: Array<() => void> = []
  // Several steps can change the same file.
  const lines = new Set<string>()
  for (const action of actions) {
    const file = join(folder, action.path)
    try {
      const before = exists(file) ? readFileSync(file, 'utf8') : undefined
      const after = isCreate(action) ? action.content : action.insert(before ?? '')
      lines.add(`${verb(before, after).padStart(9)}  ${action.path}`)
      if (!dryRun && after !== before) write(file, before, after, undos)
    } catch (error) {
      for (const undo of undos.toReversed()) undo()
      throw new WriteFailed(action.path, error)
    }
  }
  lines.forEach(print)
}

/**
 * Asks about all steps, and then undoes those that were confirmed, or none: if one cannot be undone, the files of the others
 * are restored. Folders that become empty are deleted, too.
 *
 * @returns whether there was anything to undo
 * @throws DestroyFailed when a file cannot be deleted or changed
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
  const undos: Array<() => void> = []
  for (const action of agreed) {
    try {
      undo(folder, action, undos)
    } catch (error) {
      for (const restore of undos.toReversed()) restore()
      throw new DestroyFailed(action.path, error)
    }
  }
  for (const action of present) {
    const word = !agreed.has(action) ? 'keep' : isCreate(action) ? 'delete' : 'update'
    print(`${word.padStart(9)}  ${action.path}`)
  }
  if (present.length > 0) leftoversOf(folder, actions).forEach(print)
  return present.length > 0
}

/** The remaining manual work, except for the steps that the user has kept. */
function leftoversOf(folder: string, actions: readonly FileAction[]): string[] {
  return actions.flatMap((action) => {
    if (isCreate(action) || isDone(folder, action)) return []
    return action.leftover(readFileSync(join(folder, action.path), 'utf8')) ?? []
  })
}

function questionOf(action: FileAction): string {
  return isCreate(action) ? `Delete ${action.path}?` : `Remove ${action.what} from ${action.path}?`
}

/** Undoes a step, and adds a function that restores its file. */
function undo(folder: string, action: FileAction, undos: Array<() => void>): void {
  const file = join(folder, action.path)
  const before = readFileSync(file)
  const { mode } = lstatSync(file)
  undos.push(() => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, before, { mode })
  })
  if (!isCreate(action)) return writeFileSync(file, action.remove(before.toString()))
  rmSync(file)
  removeEmptyFolders(folder, dirname(action.path))
}

/** Whether a step creates a file. */
export function isCreate(action: FileAction): action is CreateFile {
  return 'content' in action
}

function isDone(folder: string, action: FileAction): boolean {
  const file = join(folder, action.path)
  if (!existsSync(file) || !lstatSync(file).isFile()) return false
  if (isCreate(action)) return true
  const text = readFileSync(file, 'utf8')
  return action.remove(text) !== text
}

/** Writes a file and its folders, and adds a function that undoes this. */
function write(file: string, before: string | undefined, after: string, undos: Array<() => void>): void {
  const made = mkdirSync(dirname(file), { recursive: true })
  if (made) undos.push(() => rmSync(made, { recursive: true, force: true }))
  undos.push(before === undefined ? () => rmSync(file, { force: true }) : () => writeFileSync(file, before))
  writeFileSync(file, after)
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

function removeEmptyFolders(root: string, path: string): void {
  if (path === '.' || readdirSync(join(root, path)).length > 0) return
  rmdirSync(join(root, path))
  removeEmptyFolders(root, dirname(path))
}
