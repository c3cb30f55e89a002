import { requireReference } from './application.js'
import { recordedResource, type ResourceArguments } from './arguments/command-line.js'
import { namesOf } from './arguments/names.js'
import { destructionOf, rejectUnrecorded, type Destruction, type HasRun } from './destruction.js'
import type { FileAction } from './files/files.js'
import { migrationIn } from './migration-names.js'
import { requireLines } from './nested-lists.js'
import { MODEL_FILES } from './resource-files.js'
import { filesOf, planOf, setUpSteps } from './resource-generator.js'
import type { ResourcePlan } from './resource-plan.js'

/** The arguments and options of `kit generate model`, except for the name. */
export type ModelOptions = Pick<
  ResourceArguments,
  'attributes' | 'nested' | 'unique' | 'locking' | 'history' | 'trash' | 'spec' | 'now'
>

/**
 * Returns the steps that generate a model without a resource: its class, its spec and the migration for its table.
 *
 * @param folder the application's folder
 * @throws CommandError whose message explains the problem
 */
export function modelActions(folder: string, word: string, options: ModelOptions = {}): FileAction[] {
  const plan = planOf(folder, word, options, 'model')
  for (const attribute of plan.attributes) requireReference(folder, plan.names.plural, attribute)
  requireLines(folder, plan, recordedFor(folder, word)?.options.nested)
  return stepsOf(folder, plan, options)
}

/** The command that has generated a model, according to its migration. */
function recordedFor(folder: string, word: string) {
  return recordedResource(migrationIn(folder, `create_${namesOf(word).plural}`))
}

/**
 * Returns the steps that `kit destroy` undoes: those of the original command, which the migration records.
 *
 * @throws CommandError when the options are not recorded
 */
export function modelDestruction(folder: string, word: string, hasRun?: HasRun): Destruction {
  const recorded = recordedFor(folder, word)
  const {
    attributes = [],
    nested = [],
    unique = [],
    locking = false,
    history = false,
    trash = false,
    spec = 'placeholder',
  } = recorded?.options ?? {}
  const options = { attributes, nested, unique, locking, history, trash, spec }
  const actions = stepsOf(folder, planOf(folder, recorded?.word ?? word, options, 'model'), options)
  if (!recorded) rejectUnrecorded(folder, 'model', word, actions)
  return destructionOf(folder, actions, hasRun)
}

function stepsOf(folder: string, plan: ResourcePlan, options: ModelOptions): FileAction[] {
  return [
    ...setUpSteps(folder, plan, options),
    ...filesOf(folder, plan, MODEL_FILES, { ...options, skipTemplates: true }),
  ]
}
