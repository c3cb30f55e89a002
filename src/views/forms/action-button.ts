import type { FormMethod } from './hidden-fields.js'
import { attributes, html, type Html } from '../html.js'
import type { ViewContext } from '../view-context.js'

/** The options of `actionButton`. */
export interface ActionButtonOptions {
  /** The method of the request (POST). */
  method?: FormMethod
  /** A question. With JavaScript, `application.js` asks it before the request is sent. */
  confirm?: string
}

/**
 * Renders a form with a single button, which sends a request to a path. It works without JavaScript.
 *
 * @param fields the hidden fields of the form
 */
export function actionButton(path: string, label: string, fields: Html, confirm?: string): Html {
  return buttonForm(path, fields, confirm, html`<button type="submit">${label}</button>`)
}

/** Renders a button that deletes, with a question before it. */
export function deleteButton(
  context: ViewContext,
  path: string,
  fields: Html,
  label = context.t('kit.delete'),
): Html {
  const button = html`<button class="danger" type="submit">${label}</button>`
  return buttonForm(path, fields, context.t('kit.confirm'), button)
}

function buttonForm(path: string, fields: Html, confirm: string | undefined, button: Html): Html {
  return html`<form${attributes({ action: path, method: 'post', 'data-confirm': confirm })}>
    ${fields}${button}
  </form>`
}
