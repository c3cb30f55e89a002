import type { ValidationErrors } from '../../errors.js'
import type { FormMethod } from './hidden-fields.js'
import { attributes, html, type Attributes, type Html } from '../html.js'
import { label } from '../labels.js'
import type { ViewContext } from '../view-context.js'

/** The options of a form. */
export interface FormOptions {
  /** The path that receives the form. */
  action: string
  /** The method (`POST`). */
  method?: FormMethod
  /** The record's errors from the last submission. */
  errors?: ValidationErrors | undefined
  /** The model's name, for ids and translations: `blog_post`. By default that of the record's class. */
  name?: string
}

/** A field's own label and hint. Any other option is an attribute of the input. */
export type FieldOptions = Attributes & { label?: string; hint?: string }

/** The parts of the fields of a form: labels, hints, errors, and the ids that connect them. */
export class Fields {
  /** @param name the model's name in ids of translations, and the beginning of the ids of elements */
  constructor(
    protected readonly context: ViewContext,
    protected readonly name: string,
    protected readonly errors: ValidationErrors | undefined,
  ) {}

  /** Renders all errors, with a link to each field that the form has. The page opens with their focus. */
  protected summary(heading: string, isShown: (attribute: string) => boolean = () => true): Html {
    const entries = Object.entries(this.errors?.messages ?? {})
    const messages = entries.flatMap(([attribute, texts]) =>
      texts.map((text) =>
        isShown(attribute)
          ? html`<li><a href="#${this.idOf(attribute)}">${this.placeIn(attribute)}${text}</a></li>`
          : html`<li>${text}</li>`,
      ),
    )
    if (messages.length === 0) return html``
    return html`<div class="error-summary" role="alert" tabindex="-1" autofocus>
      <h2>${this.context.t(heading, { count: messages.length })}</h2>
      <ul>
        ${messages}
      </ul>
    </div>`
  }

  /**
   * Renders a field: label, hint, input and errors. Unless it is required, the label states that it is
   * optional.
   *
   * @param hint replaces the hint of the options, if it is not text
   */
  protected field(attribute: string, options: FieldOptions, input: Html, hint?: Html): Html {
    const optional =
      !options.required && html` <span class="optional">${this.context.t('kit.optional')}</span>`
    return html`<div class="field">
      <label for="${this.idOf(attribute)}">${this.labelOf(attribute, options)}${optional}</label>
      ${this.hintOf(attribute, hint ?? options.hint)}${input}${this.errorOf(attribute)}
    </div>`
  }

  /** Renders the attributes of an input. The options override the defaults. */
  protected attributesOf(attribute: string, options: FieldOptions, defaults: Attributes = {}): Html {
    return attributes({
      id: this.idOf(attribute),
      name: this.nameOf(attribute),
      ...defaults,
      ...options,
      label: undefined,
      hint: undefined,
      'aria-describedby': this.descriptionOf(attribute, options.hint),
      'aria-invalid': this.invalidOf(attribute),
    })
  }

  /** The ids of the hint and the errors. */
  protected descriptionOf(attribute: string, hint: unknown): string | undefined {
    const ids = [
      hint && this.idOf(attribute, 'hint'),
      this.invalidOf(attribute) && this.idOf(attribute, 'error'),
    ]
    return ids.filter(Boolean).join(' ') || undefined
  }

  /** The value of `aria-invalid`. */
  protected invalidOf(attribute: string): 'true' | undefined {
    return this.messagesOf(attribute).length > 0 ? 'true' : undefined
  }

  protected labelOf(attribute: string, options: FieldOptions): string {
    return options.label ?? label(this.context, `${this.name}.${attribute}`)
  }

  protected hintOf(attribute: string, hint: string | Html | undefined): Html | undefined {
    return hint ? html`<p class="hint" id="${this.idOf(attribute, 'hint')}">${hint}</p>` : undefined
  }

  protected errorOf(attribute: string): Html | undefined {
    const messages = this.messagesOf(attribute)
    if (messages.length === 0) return undefined
    return html`<p class="error" id="${this.idOf(attribute, 'error')}">${messages.join(' ')}</p>`
  }

  /** The id of a field or of one of its parts. */
  protected idOf(attribute: string, part?: string): string {
    return [this.idBase(), attribute.replaceAll('.', '_'), part].filter(Boolean).join('_')
  }

  /** The beginning of the ids. */
  protected idBase(): string {
    return this.name
  }

  /** The name of a field in the body of the form. */
  protected nameOf(attribute: string): string {
    return attribute
  }

  /** The place of an attribute in messages of the summary, for example `Line 2: `. */
  protected placeIn(_attribute: string): string {
    return ''
  }

  protected messagesOf(attribute: string): string[] {
    return this.errors?.on(attribute) ?? []
  }
}
