import { createHash } from 'node:crypto'
import type { EntityManager } from 'typeorm'
import { milliseconds, newId, type Duration } from '../extension.js'
import { DeclarationError } from '../index.js'
import { canonicalJson, toJson } from './arguments.js'
import type { JobDefinition } from './job.js'
import type { JobStore, NewJob } from './store.js'

/** The options of `ctx.enqueue`. */
export interface EnqueueOptions {
  /** The time from now at which the job is due: `'10 minutes'`. */
  delay?: Duration
  /** The time at which the job is due, instead of a delay. */
  at?: Date
  /** Another queue than that of the job. */
  queue?: string
  /**
   * Enqueues nothing while a job of this class with the same arguments has not started: `true`. Or with the same text, of 200
   * characters at most.
   */
  unique?: boolean | string
}

/** The key of a unique job. */
export function uniqueKey(name: string, text: string): string {
  return createHash('sha256')
    .update(JSON.stringify([name, text]))
    .digest('base64url')
}

/**
 * Inserts a job.
 *
 * @returns its id; undefined if a waiting job has the same unique key
 */
export async function enqueueJob(
  store: JobStore,
  tx: EntityManager,
  job: NewJob,
): Promise<string | undefined> {
  if (job.uniqueKey !== undefined) return (await store.insertUnique(tx, job)) ? job.id : undefined
  await store.insert(tx, [job])
  return job.id
}

/**
 * Makes the row of a job.
 *
 * @throws DeclarationError when the arguments or the options are wrong
 */
export function newJob(
  { name, queue: ownQueue }: JobDefinition,
  queues: readonly string[],
  args: unknown,
  { delay, at, queue = ownQueue, unique = false }: EnqueueOptions,
  requestId: string | undefined,
): NewJob {
  if (delay !== undefined && at !== undefined)
    throw new DeclarationError(`${name} is enqueued with \`delay\` and \`at\`. Use one of them.`)
  if (at !== undefined && !(at instanceof Date && Number.isFinite(at.getTime())))
    throw new DeclarationError(`${name} is enqueued with an \`at\` that is not a valid Date.`)
  if (!queues.includes(queue)) throw new DeclarationError(unknownQueue(name, queue, queues))
  if (typeof unique === 'string' && (unique === '' || unique.length > 200))
    throw new DeclarationError(`The text of \`unique\` of ${name} must have 1 to 200 characters.`)
  const json = toJson(args, name)
  const key = typeof unique === 'string' ? `text ${unique}` : `arguments ${canonicalJson(json)}`
  return {
    id: newId(),
    name,
    queue,
    arguments: json,
    // A delay of 0 is none.
    delay: delay === undefined || delay === 0 ? 0 : milliseconds(delay),
    at: at?.getTime(),
    uniqueKey: unique === false ? undefined : uniqueKey(name, key),
    requestId,
  }
}

export function unknownQueue(name: string, queue: string, queues: readonly string[]): string {
  return `${name} uses the queue "${queue}", which isn't declared. Declared: ${queues.join(', ')}. Add it to jobQueue(database, { queues: [...] }).`
}
