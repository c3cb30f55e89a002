import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { handlersIn } from './application.js'
import { recordedCommand } from './arguments/command-line.js'
import { namesOf, type Names } from './arguments/names.js'
import { destructionOf, importersOf, rejectUnrecorded, type Destruction, type HasRun } from './destruction.js'
import { migrationIn } from './migration-names.js'
import { planOf, stepsOf } from './resource-generator.js'

/**
 * Returns the steps of `kit generate resource` with its original options, which are recorded in the handlers and the migration.
 *
 * @throws CommandError when the options are not recorded
 */
export function resourceDestruction(folder: string, word: string, hasRun?: HasRun): Destruction {
  const recorded = recordedFor(folder, word)
  const options = recorded?.options ?? {}
  const plan = planOf(folder, recorded?.word ?? word, options)
  const useModel = options.useModel ?? sharedModel(folder, plan.names)
  const actions = stepsOf(folder, plan, { ...options, useModel })
  if (!recorded) rejectUnrecorded(folder, 'resource', word, actions)
  return destructionOf(folder, actions, hasRun)
}

/** The command that has generated a resource, according to its handlers, else to its migration. */
function recordedFor(folder: string, word: string) {
  const own = [namesOf(word, undefined, true), namesOf(word)]
  const migrations = own.map(({ plural }) => migrationIn(folder, `create_${plural}`))
  return [...own.map((names) => handlersIn(folder, names)), ...migrations]
    .map(recordedCommand)
    .find((one) => {
      const made = one && namesOf(one.word, undefined, one.options.singular)
      return own.some(({ file }) => file === made?.file)
    })
}

/** The name of the model if another resource has it, too (`widget` and `admin/widget`), so that it must stay. */
function sharedModel(folder: string, { file, singular, model }: Names): string | undefined {
  const isOfModel = new RegExp(`^@Resource\\([^)]*\\bmodel: ${model}\\b`, 'm')
  const others = importersOf(folder, `src/models/${singular}.ts`, [
    { path: `src/actions/${file}.ts`, content: '' },
  ]).filter((path) => path.startsWith('src/actions/'))
  return others.some((path) => isOfModel.test(readFileSync(join(folder, path), 'utf8')))
    ? singular
    : undefined
}
