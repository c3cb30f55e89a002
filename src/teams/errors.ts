import { errors, HttpError } from '../index.js'

/** 410: the link of an invitation is forged, used, replaced, withdrawn or expired. */
export class InvitationGone extends HttpError {
  constructor() {
    super(410, 'This invitation is no longer open. Ask for a new one.')
  }
}

/** A handler or a job writes a membership or an invitation itself, past the limits of roles and the last owner. */
export class GuardedRecord extends errors.NamedError {
  constructor(model: string) {
    super(
      `ctx.save and ctx.destroy do not write a record of ${model}, because they check neither roles nor the last owner. Call ` +
        'create, invite, accept, changeRole or remove of teamMembers().',
    )
  }
}
