import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { modelFiles } from './application.js'
import type { FileAction } from './files/files.js'
import { filesOfScaffolds, renderFiles } from './files/templates.js'
import { migrationNames } from './migration-names.js'

/** The options on which the steps of a history depend. */
interface HistoryOptions {
  history?: boolean
  now?: Date | undefined
}

/**
 * The steps of the first model with a history: src/models/history_entry.ts, and the migration of its table. `kit destroy` undoes them
 * with the last one.
 *
 * @param own the files of the models that are generated or destroyed
 * @param before the number of migrations that are written with it, and run before it
 */
export function historySteps(
  folder: string,
  { history, now }: HistoryOptions,
  own: readonly string[],
  before: number,
): FileAction[] {
  return history && isFirstHistory(folder, own) ? historyFiles(folder, now, before) : []
}

/** The migration that creates the table of entries. */
export const historyMigration = 'create_history_entries'

/** The migration of the table of entries, and their model. */
export function historyFiles(folder: string, now?: Date, before = 0): FileAction[] {
  const { file: migration, className } = migrationNames(folder, historyMigration, now, before)
  return renderFiles(folder, filesOfScaffolds(['history']), { migration }, { migrationClass: className })
}

/** Whether no other model has a history. */
export function isFirstHistory(folder: string, own: readonly string[]): boolean {
  return !modelFiles(folder)
    .map((name) => `src/models/${name}.ts`)
    .some((path) => !own.includes(path) && /^@History\(/m.test(readFileSync(join(folder, path), 'utf8')))
}
