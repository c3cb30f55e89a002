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
import { FilesExist, NotWritten } from '../command-errors.js'

/** A file that is written whole. */
export interface CreateFile {
  /** From the application's folder, with slashes. */
  path: string
  content: string
}

/** A change within a file that is there already, and its undo. */
export interface EditFile {
  path: string
  /** What is put in, as it is shown: `app.resource(PostsResource)`. */
  what: string
  insert(text: string): string
  remove(text: string): string
  /** What is left to do by hand when it has been removed, or cannot be; undefined when nothing is. */
  leftover(text: string): string | undefined
}

/** One step of a generator. Generate does the steps, destroy undoes the same ones. */
export type FileAction = CreateFile | EditFile

/** Says a line to the user. */
export type Say = (line: string) => void

/** How `generate` goes about it. */
export interface GenerateOptions {
  /** Writes files anew that are there already. */
  force?: boolean
  /** Says what would be done, and does nothing. */
  dryRun?: boolean
  say?: Say
}

/** How `destroy` goes about it. */
export interface DestroyOptions {
  /** Whether a file is to go. */
  confirm(question: string): Promise<boolean>
  /** What there is to say about a file before it goes. */
  remark?(path: string): Promise<string | undefined>
  say?: Say
}

/**
 * Does every step, or none: what has been done is undone when one fails.
 *
 * @throws FilesExist when a file is there already, NotWritten when one cannot be written
 */
export function generate(
  folder: string,
  actions: readonly FileAction[],
  options: GenerateOptions = {},
): void {
  const { force = false, dryRun = false, say = () => undefined } = options
  const existing = actions.filter((action) => isCreate(action) && exists(join(folder, action.path)))
  if (existing.length > 0 && !force) throw new FilesExist(existing.map(({ path }) => path))

  const undos: Array<() => void> = []
  const lines: string[] = []
  for (const action of actions) {
    const file = join(folder, action.path)
    try {
      const before = exists(file) ? readFileSync(file, 'utf8') : undefined
      const after = isCreate(action) ? action.content : action.insert(before ?? '')
      lines.push(`${verb(before, after).padStart(9)}  ${action.path}`)
      if (!dryRun && after !== before) write(file, before, after, undos)
    } catch (error) {
      for (const undo of undos.toReversed()) undo()
      throw new NotWritten(action.path, error)
    }
  }
  lines.forEach(say)
}

/**
 * Undoes the steps that are agreed to, after all have been asked about. A folder that is empty then goes with its last file.
 *
 * @returns whether there was anything to undo
 */
export async function destroy(
  folder: string,
  actions: readonly FileAction[],
  { confirm, remark, say = () => undefined }: DestroyOptions,
): Promise<boolean> {
  const present = actions.filter((action) => isDone(folder, action))
  const agreed = new Set<FileAction>()
  for (const action of present) {
    const note = await remark?.(action.path)
    if (note) say(note)
    if (await confirm(questionOf(action))) agreed.add(action)
  }
  for (const action of present) {
    say(`${agreed.has(action) ? undo(folder, action) : '     keep'}  ${action.path}`)
  }
  if (present.length > 0) leftoversOf(folder, actions).forEach(say)
  return present.length > 0
}

/** What is left to do by hand, apart from what the user has kept. */
function leftoversOf(folder: string, actions: readonly FileAction[]): string[] {
  return actions.flatMap((action) => {
    if (isCreate(action) || isDone(folder, action)) return []
    return action.leftover(readFileSync(join(folder, action.path), 'utf8')) ?? []
  })
}

function questionOf(action: FileAction): string {
  return isCreate(action) ? `Delete ${action.path}?` : `Remove ${action.what} from ${action.path}?`
}

/** Takes one step back, and says the word for it. */
function undo(folder: string, action: FileAction): string {
  const file = join(folder, action.path)
  if (!isCreate(action)) {
    writeFileSync(file, action.remove(readFileSync(file, 'utf8')))
    return '   update'
  }
  rmSync(file)
  removeEmptyFolders(folder, dirname(action.path))
  return '   delete'
}

/** Whether a step writes a file of its own. */
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

/** Writes a file and the folders above it, and notes how to undo that. */
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

/** Also a link that leads nowhere. Beneath a file, where a folder should be, there is nothing. */
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
