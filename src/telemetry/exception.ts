import { QueryFailedError } from 'typeorm'
import { causesOf, errorHead, wordOf } from '../extension.js'

/** An error as in the log. A word such as `unique` replaces a database's message, which has values. */
export function exceptionOf(error: unknown): { name: string; message: string; stack: string } {
  const { type = typeof error, message = '', stack = '' } = errorHead(Object(error))
  const causes = error instanceof Error ? [...causesOf(error)] : []
  const failure = causes.find((cause) => cause instanceof QueryFailedError || 'driverError' in cause)
  if (!failure) return { name: type, message, stack }
  const problem = wordOf(failure)
  return { name: type, message: problem, stack: `${type}: ${problem}${framesOf(Object(error))}` }
}

/** The frames of a stack, without the message above, which can have lines that look like frames. */
function framesOf({ stack = '', message }: Error): string {
  const index = stack.lastIndexOf(message)
  return index < 0 ? '' : stack.slice(index + message.length)
}
