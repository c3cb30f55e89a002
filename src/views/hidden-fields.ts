import { html, type Html } from './html.js'
import type { ViewContext } from './view-context.js'

/** A method that a form can send. */
export type FormMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Renders the hidden fields of a form: `_method` if HTML cannot send the method, and the CSRF token. */
export function hiddenFields(context: ViewContext, method: FormMethod): Html {
  const token = context.csrfToken
  return html`${method !== 'POST' && hidden('_method', method)}${token && hidden('authenticity_token', token)}`
}

/** Renders a hidden field. */
export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}" />`
}
