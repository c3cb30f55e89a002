/**
 * Background jobs and schedules, in tables of the application's database.
 *
 * @module resource-kit/jobs
 */

export { Job, Schedule, type JobClass, type JobOptions, type Performs } from './job.js'
export {
  jobQueue,
  type Drained,
  type DrainOptions,
  type EnqueueMembers,
  type JobQueue,
  type JobQueueOptions,
} from './queue.js'
export type { QueueCounts } from './store.js'
export type { EnqueueOptions } from './enqueue.js'
export type { ScheduleOptions } from './schedules.js'
export { jobTables, type JobTableOptions } from './table.js'
export { Discard, RetryLater } from './errors.js'
export type { ArgumentsOf } from './arguments.js'
export type { JobContext } from '../index.js'
export type { Duration } from '../extension.js'
