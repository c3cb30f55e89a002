import { UnsafeAction } from '../../errors.js'
import { isOfThisSite } from '../../http/security/own-site.js'
import { attributes, html, inputTag, type Html } from '../html.js'
import type { ViewContext } from '../view-context.js'

/** The method of a form's request. HTML can only send POST; `_method` carries the others. */
export type FormMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Renders the hidden fields of a form: `_method` unless it is POST, and the CSRF token if there is one. */
export function hiddenFields(context: ViewContext, method: FormMethod): Html {
  const token = context.csrfToken
  return html`${method !== 'POST' && hiddenField('_method', method)}${token && hiddenField('authenticity_token', token)}`
}

export function hiddenField(name: string, value: string): Html {
  return inputTag(attributes({ type: 'hidden', name, value }))
}

/**
 * Returns the path that a form is sent to. A form has a CSRF token, which no other site may receive.
 *
 * @throws UnsafeAction when it is a URL of another site, or a `javascript:` URL
 */
export function actionPath(path: string): string {
  if (isOfThisSite(path)) return path
  throw new UnsafeAction(path)
}
