import { html, type Html } from '../html.js'

/** Renders errors above a form. The browser focuses them when the page opens. Without errors, it is empty. */
export function errorSummary(heading: string, messages: readonly Html[]): Html {
  if (messages.length === 0) return html``
  return html`<div class="error-summary" role="alert" tabindex="-1" autofocus>
    <h2>${heading}</h2>
    <ul>
      ${messages}
    </ul>
  </div>`
}
