import { errors } from '../index.js'
import { howToCreate } from './entry.js'

/** A statement would change records with a history past the writer. It was not sent. */
export class UnrecordedWrite extends errors.NamedError {
  /** @param models the models whose records or links it would change */
  constructor(models: string, statement: string) {
    super(
      `This statement would change ${models} without an entry in the history, so it was not sent: ${statement} ` +
        "Write records by ctx.save and ctx.destroy, or call withoutHistory(ctx, 'the reason', (tx) => ...).",
    )
  }
}

/** A statement, or `ctx.save`, would change an entry of the history. */
export class EntryIsReadOnly extends errors.NamedError {
  constructor() {
    super(
      'Entries of the history cannot be written. To delete old entries, or those of a record, call forgetHistory().',
    )
  }
}

/** The database lacks the table of the entries, or a part of it. */
export class EntriesMissing extends errors.NamedError {
  constructor(cause: Error) {
    super(`Nothing was saved, because no entry of the history could be: ${cause.message}. ${howToCreate}`, {
      cause,
    })
  }
}
