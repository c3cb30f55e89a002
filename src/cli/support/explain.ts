import { CommanderError } from 'commander'
import { inspect } from 'node:util'
import { BuildFailed, CommandError } from '../../command-errors.js'
import { escapeControl } from '../../common/escape-control.js'
import * as failures from '../../errors.js'

/**
 * Explains a failure to the user of a command: an expected error by its message, a mistake in code by its
 * stack. The text may contain what a visitor has stored, so control characters are escaped, except in the
 * output of the compiler, which has colors.
 */
export function explain(error: unknown): string {
  const text = textOf(error)
  return error instanceof BuildFailed ? text : escapeControl(text, '\n\t')
}

function textOf(error: unknown): string {
  if (error instanceof CommanderError) return explainUsage(error)
  if (isForeseen(error)) return error.message
  const { code, path } = Object(error) as { code?: unknown; path?: unknown }
  const reason = typeof path === 'string' ? fileProblems[String(code)] : undefined
  return reason ? `${path} cannot be read or written: ${reason}.` : inspect(error)
}

/** The reasons why the system rejects the use of a file, by its codes. */
const fileProblems: Record<string, string> = {
  EACCES: 'this user lacks the permission',
  EPERM: 'this user lacks the permission',
  EROFS: 'its file system is read-only',
  ENOSPC: 'the disk is full',
}

/** Whether an error has one of the framework's classes, whose messages are sufficient. */
function isForeseen(error: unknown): error is Error {
  if (error instanceof CommandError) return true
  return Object.values(failures).some((failure) => error instanceof failure)
}

/** Commander writes `error: unknown option '--x'`, and its suggestion on a separate line. */
function explainUsage(error: CommanderError): string {
  // Commander has already printed the help of the command.
  if (error.code === 'commander.help') return ''
  const [problem = '', suggestion = ''] = error.message.replace(/^error: /, '').split('\n')
  const sentence = `${problem.charAt(0).toUpperCase()}${problem.slice(1)}`.replace(/\.?$/, '.')
  const near = suggestion.replace(/^\(|\)$/g, '')
  return [sentence, near, 'Run the command with `--help` for its usage.'].filter(Boolean).join(' ')
}
