import { CommanderError } from 'commander'
import { inspect } from 'node:util'
import { CommandError } from '../../command-errors.js'
import * as failures from '../../errors.js'

/** What a failure says to whom typed the command. One that we foresee is a sentence; a mistake in code shows its place. */
export function explain(error: unknown): string {
  if (error instanceof CommanderError) return explainUsage(error)
  if (isForeseen(error)) return error.message
  return inspect(error)
}

function isForeseen(error: unknown): error is Error {
  if (error instanceof CommandError) return true
  return Object.values(failures).some((failure) => error instanceof failure)
}

/** Commander writes `error: unknown option '--x'`, and what it suggests on a line of its own. */
function explainUsage(error: CommanderError): string {
  // It has printed the page of the command already.
  if (error.code === 'commander.help') return ''
  const [problem = '', suggestion = ''] = error.message.replace(/^error: /, '').split('\n')
  const sentence = `${problem.charAt(0).toUpperCase()}${problem.slice(1)}`.replace(/\.?$/, '.')
  const near = suggestion.replace(/^\(|\)$/g, '')
  return [sentence, near, 'Run the command with `--help` for its usage.'].filter(Boolean).join(' ')
}
