import { hiddenFields } from './hidden-fields.js'
import { html, type Html } from './html.js'
import type { ViewContext } from './view-context.js'

/**
 * Renders a button that sends DELETE to a path. It is a form, so it works without JavaScript. With JavaScript,
 * `application.js` asks for confirmation first.
 */
export function deleteButton(
  context: ViewContext,
  path: string,
  label = context.t('kit.delete'),
  fields = hiddenFields(context, 'DELETE'),
): Html {
  return html`<form action="${path}" method="post" data-confirm="${context.t('kit.confirm')}">
    ${fields}<button class="danger" type="submit">${label}</button>
  </form>`
}
