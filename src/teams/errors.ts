import type { RecordWrite } from '../extension.js'
import { errors, HttpError } from '../index.js'

/** 410: the link of an invitation is forged, used, replaced, withdrawn or expired. */
export class InvitationGone extends HttpError {
  constructor() {
    super(410, 'This invitation is no longer open. Ask for a new one.')
  }
}

/** A handler or a job writes a membership or an invitation itself, past the limits of roles and the last owner. */
export class GuardedRecord extends errors.NamedError {
  constructor(model: string, action: RecordWrite['action']) {
    const [create, remove] = ['invite, accept or create', 'remove']
    const methods = {
      create,
      update: 'changeRole or invite',
      destroy: remove,
      trash: remove,
      restore: create,
    }
    const verb = methods[action] === remove ? 'ctx.destroy does not delete' : 'ctx.save does not write'
    super(
      `${verb} ${/^[AEIOU]/.test(model) ? 'an' : 'a'} ${model}, because that checks neither roles nor the last owner. Call ` +
        `${methods[action]} of teamMembers().`,
    )
  }
}
