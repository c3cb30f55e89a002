import { html, type Html } from './html.js'
import type { ViewContext } from './view-context.js'

/** A method that a form of ours can send. */
export type FormMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The hidden fields of a form: `_method` where HTML cannot send the method, and the token against forged requests. */
export function hiddenFields(context: ViewContext, method: FormMethod): Html {
  const token = context.csrfToken
  return html`${method !== 'POST' && hidden('_method', method)}${token && hidden('authenticity_token', token)}`
}

/** A hidden field. */
export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}" />`
}
