import { requireReference } from './application.js'
import { destructionOf, type Destruction, type HasRun } from './destruction.js'
import type { FileAction } from './files/files.js'
import { migrationArguments } from './migration-arguments.js'
import { namesOf } from './arguments/names.js'
import {
  filesOf,
  planOf,
  rejectLongIndexes,
  type ResourceOptions,
  type ResourcePlan,
} from './resource-generator.js'

/** The arguments and options of `kit generate model`, except for the name. */
export type ModelOptions = Pick<ResourceOptions, 'attributes' | 'uniques' | 'fullSpec' | 'now'>

/**
 * Returns the steps that generate a model without a resource: its class, its spec and the migration for its table.
 *
 * @param folder the application's folder
 * @throws CommandError whose message explains the problem
 */
export function modelActions(folder: string, word: string, options: ModelOptions = {}): FileAction[] {
  const plan = planOf(folder, word, options)
  for (const attribute of plan.attributes) requireReference(folder, plan.names.plural, attribute)
  rejectLongIndexes(plan)
  return stepsOf(folder, plan, options)
}

/** Returns the steps of `kit generate model` with its original options, which are read from the migration. */
export function modelDestruction(folder: string, word: string, hasRun?: HasRun): Destruction {
  const written = migrationArguments(folder, namesOf(word))
  const options = { attributes: written?.attributes ?? [], uniques: written?.uniques ?? [] }
  const plan = planOf(folder, word, options)
  const expected = [options, { ...options, fullSpec: true }].map((variant) => stepsOf(folder, plan, variant))
  return destructionOf(folder, expected, { isKnown: written !== undefined, hasRun })
}

function stepsOf(folder: string, plan: ResourcePlan, options: ModelOptions): FileAction[] {
  const scaffolds = ['resource/common', ...(options.fullSpec ? ['resource/full-common'] : [])]
  return filesOf(folder, plan, scaffolds, options)
}
