import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentsStep, paragraphs } from './agents.js'
import { modelFiles, readApplication, textOf } from './application.js'
import type { Attribute } from './arguments/attributes.js'
import type { FileAction } from './files/files.js'
import { importing, insertion } from './files/insertion.js'
import { applicationName } from './files/registration.js'
import { filesOfScaffolds, renderFiles } from './files/templates.js'
import { migrationIn, migrationNames } from './migration-names.js'

/** Whether some attributes contain stored files. */
export function hasFiles(attributes: readonly Attribute[]): boolean {
  return attributes.some(({ file }) => file !== undefined)
}

const listFile = 'src/files.ts'

/**
 * The steps of the first attribute with files: src/files.ts, the migration of its table, and its registration in src/app.ts. `kit
 * destroy` undoes them with the last one.
 *
 * @param own the file of the model that is generated or destroyed
 */
export function fileSteps(
  folder: string,
  attributes: readonly Attribute[],
  { now }: { now?: Date | undefined },
  own?: string,
): FileAction[] {
  if (!hasFiles(attributes) || !isOnly(folder, own)) return []
  const app = applicationName(readApplication(folder)) ?? 'app'
  const { file: migration, className: migrationClass } = migrationNames(folder, table, now)
  const lines = [
    '',
    '// Stores the files of the resources below, after everything above has let the request pass.',
    `${app}.extend(files)`,
  ]
  return [
    ...renderFiles(folder, filesOfScaffolds(['file']), { migration }, { migrationClass }),
    importing('src/app.ts', [['files', './files.js']]),
    insertion('src/app.ts', 'the files', [{ lines, place: 'before the resources' }]),
    ...agentsStep(folder, paragraphs.files),
  ]
}

const table = 'create_stored_files'

/** Whether no other model has files: the steps are those of the first attribute, or of the last one. */
function isOnly(folder: string, own: string | undefined): boolean {
  const others = modelFiles(folder)
    .map((name) => `src/models/${name}.ts`)
    .filter((path) => path !== own)
  const isUsed = others.some((path) => /@HasFiles?\(/.test(readFileSync(join(folder, path), 'utf8')))
  return !isUsed && (own !== undefined || textOf(folder, listFile) === undefined)
}

/** The number of migrations that are written before one with foreign keys to the table of files: that of the table. */
export function migrationsBefore(folder: string, attributes: readonly Attribute[]): number {
  return hasFiles(attributes) && migrationIn(folder, table) === '' && textOf(folder, listFile) === undefined
    ? 1
    : 0
}
