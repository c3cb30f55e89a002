import { actionPath, hiddenFields, type FormMethod } from './hidden-fields.js'
import { attributes, escapeHtml, html, Html } from '../html.js'
import type { ViewContext } from '../view-context.js'

/** The options of `actionButton`. */
export interface ActionButtonOptions {
  /** The method of the request (POST). */
  method?: FormMethod
  /** A question. With JavaScript, `application.js` asks it before the request is sent. */
  confirm?: string
}

/**
 * Renders forms with a single button, which work without JavaScript. A list has the same button for each
 * record, so the parts of a form that do not depend on its path are rendered once for a page.
 */
export class ActionButtons {
  private readonly fields: Partial<Record<FormMethod, Html>> = {}
  private readonly deleteForms = new Map<string | undefined, Html>()

  constructor(private readonly context: ViewContext) {}

  /** Renders the hidden fields of a method. */
  hiddenFields(method: FormMethod): Html {
    return (this.fields[method] ??= hiddenFields(this.context, method))
  }

  /**
   * Renders a button that sends a request to a path.
   *
   * @throws UnsafeAction when the path leads to another site
   */
  action(path: string, label: string, { method = 'POST', confirm }: ActionButtonOptions = {}): Html {
    const button = html`<button type="submit">${label}</button>`
    return formTo(path, this.restOfForm(method, confirm, button))
  }

  /** Renders a button that deletes, with a question before it. */
  delete(path: string, label?: string): Html {
    const form = this.deleteForms.get(label) ?? this.deleteForm(label)
    this.deleteForms.set(label, form)
    return formTo(path, form)
  }

  private deleteForm(label = this.context.t('kit.delete')): Html {
    const button = html`<button class="danger" type="submit">${label}</button>`
    return this.restOfForm('DELETE', this.context.t('kit.confirm'), button)
  }

  /** Renders a form from the attributes after its path to its end. */
  private restOfForm(method: FormMethod, confirm: string | undefined, button: Html): Html {
    return html`${attributes({ method: 'post', 'data-confirm': confirm })}>
    ${this.hiddenFields(method)}${button}
  </form>`
  }
}

function formTo(path: string, rest: Html): Html {
  return new Html(`<form action="${escapeHtml(actionPath(path))}"${rest}`)
}
