import { milliseconds, newId, type Duration } from '../extension.js'
import { DeclarationError } from '../index.js'
import { toJson, uniqueKey } from './arguments.js'
import type { JobDefinition } from './job.js'
import type { JobRow } from './store.js'

/** The options of `ctx.enqueue`. */
export interface EnqueueOptions {
  /** The time from now at which the job is due: `'10 minutes'`. */
  delay?: Duration
  /** The time at which the job is due, instead of a delay. */
  at?: Date
  /** A queue other than the job's own. */
  queue?: string
  /**
   * Enqueues nothing while an equal job of this class waits for its start: with `true`, a job with the same
   * arguments, and with a string of up to 200 characters, a job that was enqueued with the same string.
   */
  unique?: boolean | string
}

/**
 * Makes the row of a job.
 *
 * @throws DeclarationError when the arguments or the options are wrong
 */
export function rowOf(
  { name, queue: ownQueue }: JobDefinition,
  queues: readonly string[],
  args: unknown,
  { delay, at, queue = ownQueue, unique = false }: EnqueueOptions,
): JobRow {
  if (delay !== undefined && at !== undefined)
    throw new DeclarationError(`${name} is enqueued with \`delay\` and \`at\`. Use one of them.`)
  if (at !== undefined && !(at instanceof Date && Number.isFinite(at.getTime())))
    throw new DeclarationError(`${name} is enqueued with an \`at\` that is not a valid Date.`)
  checkQueue(name, queue, queues)
  if (typeof unique === 'string' && (unique === '' || unique.length > 200))
    throw new DeclarationError(`The text of \`unique\` of ${name} must have 1 to 200 characters.`)
  const json = toJson(args, name)
  const key = typeof unique === 'string' ? `text ${unique}` : `arguments ${json}`
  return {
    id: newId(),
    name,
    queue,
    arguments: json,
    // `milliseconds` rejects a delay of 0.
    delay: delay === undefined || delay === 0 ? 0 : milliseconds(delay, `The delay of ${name}`),
    at: at?.getTime(),
    unique_key: unique === false ? undefined : uniqueKey(name, key),
  }
}

/**
 * @param usedBy the name of the job or the option that uses the queue
 * @throws DeclarationError when the queue is not declared
 */
export function checkQueue(usedBy: string, queue: string, queues: readonly string[]): void {
  if (!queues.includes(queue))
    throw new DeclarationError(
      `${usedBy} uses the queue "${queue}", which isn't declared. Declared: ${queues.join(', ')}. Add it to jobQueue(database, { queues: [...] }).`,
    )
}
