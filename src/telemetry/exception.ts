import { QueryFailedError } from 'typeorm'
import { errorHead, wordOf } from '../extension.js'

/** An error as a span shows it. */
export interface Exception {
  type: string
  message: string
  stack: string
}

/** The type, the message and the stack of an error as in the log. The message of the database can repeat values, so its problem replaces it. */
export function exceptionOf(error: unknown): Exception {
  const { type = typeof error, message = '', stack = '' } = errorHead(Object(error))
  const failure = causesOf(error).find((cause) => cause instanceof QueryFailedError || 'driverError' in cause)
  if (!(error instanceof Error) || !failure) return { type, message, stack }
  const problem = wordOf(failure)
  return { type, message: problem, stack: `${type}: ${problem}${framesOf(error)}` }
}

function causesOf(error: unknown): Error[] {
  const causes: Error[] = []
  for (let one = error; one instanceof Error && !causes.includes(one); one = one.cause) causes.push(one)
  return causes
}

/** The frames of a stack, without the message above, which can have lines that look like frames. */
function framesOf({ stack = '', message }: Error): string {
  const index = stack.lastIndexOf(message)
  return index < 0 ? '' : stack.slice(index + message.length)
}
