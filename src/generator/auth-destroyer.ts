import { CommandError } from '../command-errors.js'
import { accountsOf } from './application.js'
import { authActions, authOptionsOf } from './auth-generator.js'
import { destructionOf, importersOf, type Destruction, type HasRun } from './destruction.js'
import { namesOf } from './arguments/names.js'

/**
 * Returns the steps of `kit generate auth`, which `kit destroy auth` undoes.
 *
 * @param word the model of users; by default the one in src/authentication.ts
 * @throws CommandError for another model, or while another file uses the model
 */
export function authDestruction(folder: string, word?: string, hasRun?: HasRun): Destruction {
  const accounts = accountsOf(folder) ?? namesOf(word ?? 'user')
  const { model, singular } = accounts
  if (word !== undefined && namesOf(word).model !== model) {
    throw new CommandError(`The accounts have the model ${model}. Use \`kit destroy auth ${singular}\`.`)
  }
  const actions = authActions(folder, singular, authOptionsOf(folder))
  const users = importersOf(folder, `src/models/${singular}.ts`, actions)
  if (users.length === 0) return destructionOf(folder, actions, hasRun)
  throw new CommandError(
    `${users.join(', ')} ${users.length > 1 ? 'use' : 'uses'} the model ${model}. Remove that first, for example with \`kit destroy resource\`.`,
  )
}
