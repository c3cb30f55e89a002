import type { Context } from '../../context.js'
import { ValidationErrors } from '../../errors.js'
import { hasForm } from '../body/body-kind.js'
import { chooseFormat } from '../responder.js'
import { refererOfThisSite } from '../security/own-site.js'

/**
 * Returns a browser to the page with the button, if a record cannot be deleted. The page shows the reason as
 * a message. Without the address of the page, or a session, the error has its own page.
 *
 * @returns whether the response is the redirect
 */
export function returnToPage(ctx: Context, error: unknown): boolean {
  if (!(error instanceof ValidationErrors) || error.status !== 409) return false
  if (ctx.method !== 'DELETE' || !hasForm(ctx) || !ctx.hasSession || chooseFormat(ctx) !== 'html')
    return false
  const page = refererOfThisSite(ctx)
  if (page === undefined) return false
  ctx.translateErrors(error)
  ctx.flash('danger', Object.values(error.messages).flat().join(' '))
  ctx.body = null
  ctx.status = 303
  ctx.redirect(page)
  return true
}
