import { milliseconds, type Duration } from '../extension.js'

/**
 * Thrown by a job, it rolls back the run and runs the job again later. The run does not count as an attempt.
 *
 * @example throw new RetryLater('1 hour')
 * @throws DeclarationError when the delay is malformed
 */
export class RetryLater extends Error {
  override name = 'RetryLater'

  constructor(
    readonly delay: Duration,
    options?: ErrorOptions,
  ) {
    super(`The job asked to run again after ${typeof delay === 'number' ? `${delay} ms` : delay}.`, options)
    milliseconds(delay, 'The delay of RetryLater')
  }
}

/**
 * Thrown by a job, it rolls back the run and ends the job without another attempt.
 *
 * @example throw new Discard('The account is closed.')
 */
export class Discard extends Error {
  override name = 'Discard'
}

/** A run took longer than the `timeout` of its job. */
export class JobTimeout extends Error {
  override name = 'JobTimeout'
}

/** The process is shutting down, and the job must end. */
export class ShuttingDown extends Error {
  override name = 'ShuttingDown'
  override message = 'The process is shutting down, so the job runs again elsewhere.'
}

/** Another process has taken over the job, or it was discarded. Nothing of the run is saved. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
  override message = 'the job lost its lease'
}

/** The job cannot run, now or later, so it becomes dead without further attempts. */
export class CannotRun extends Error {
  override name = 'CannotRun'
  readonly isPermanent = true
}
