import { CommandError } from '../command-errors.js'
import { authActions, authOptionsOf } from './auth-generator.js'
import { destructionOf, importersOf, type Destruction, type HasRun } from './destruction.js'
import { namesOf } from './arguments/names.js'

/**
 * Returns the steps of `kit generate auth`, which `kit destroy auth` undoes.
 *
 * @throws CommandError while another file uses the model of users
 */
export function authDestruction(folder: string, word: string, hasRun?: HasRun): Destruction {
  const actions = authActions(folder, word, authOptionsOf(folder))
  const { model, singular } = namesOf(word)
  const users = importersOf(folder, `src/models/${singular}.ts`, actions)
  if (users.length === 0) return destructionOf(folder, [actions], { isKnown: true, hasRun })
  throw new CommandError(
    `${users.join(', ')} ${users.length > 1 ? 'use' : 'uses'} the model ${model}. Remove that first, for example with \`kit destroy resource\`.`,
  )
}
