import type { ValidationErrors } from '../errors.js'
import { recordName } from '../words.js'
import { blankOption, choiceValue, option, type Choice } from './choices.js'
import { hiddenField, hiddenFields, type FormMethod } from './hidden-fields.js'
import { attributes, html, type Attributes, type Html } from './html.js'
import { dateTimeValue, dateValue, jsonValue, textValue, timeValue } from './input-values.js'
import { label } from './labels.js'
import type { ViewContext } from './view-context.js'

/** The options of a form. */
export interface FormOptions {
  /** The path that receives the form. */
  action: string
  /** The method (`POST`). */
  method?: FormMethod
  /** The record's errors from the last submission. */
  errors?: ValidationErrors | undefined
  /** The model's name, for ids and translations: `blog_post`. The default is the name of the record's class. */
  name?: string
}

/** A field's own label and hint. Any other option is an attribute of the input. */
export type FieldOptions = Attributes & { label?: string; hint?: string }

/**
 * The form of a record. Each method renders a complete field: label, hint, input, value and errors.
 *
 * @example form.text('title', { required: true })
 */
export class Form {
  readonly action: string
  readonly #method: FormMethod
  readonly #errors: ValidationErrors | undefined
  readonly #name: string

  constructor(
    private readonly context: ViewContext,
    private readonly record: object,
    { action, method = 'POST', errors, name }: FormOptions,
  ) {
    this.action = action
    this.#method = method
    this.#errors = errors
    this.#name = name ?? recordName(record.constructor.name)
  }

  /** Renders the hidden fields: `_method` if HTML cannot send the method, and the CSRF token. */
  hiddenFields(): Html {
    return hiddenFields(this.context, this.#method)
  }

  /** Renders the errors, with a link to each field. The browser focuses it when the page opens. Without errors, it is empty. */
  errorSummary(): Html {
    const entries = Object.entries(this.#errors?.messages ?? {})
    const messages = entries.flatMap(([field, texts]) => texts.map((text) => this.#errorLink(field, text)))
    if (messages.length === 0) return html``
    return html`<div class="error-summary" role="alert" tabindex="-1" autofocus>
      <h2>${this.context.t('kit.errors', { count: messages.length })}</h2>
      <ul>
        ${messages}
      </ul>
    </div>`
  }

  /** Renders a text field. Set `type` for an email address, a password, a phone number and so on. */
  text(attribute: string, options: FieldOptions = {}): Html {
    return this.#input('text', attribute, textValue, options)
  }

  /** Renders a multi-line text field. */
  textarea(attribute: string, options: FieldOptions = {}): Html {
    return this.#textarea(attribute, textValue, options)
  }

  /** Renders a number field. It accepts whole numbers only, unless you set `step` (`0.01`, or `any`). */
  number(attribute: string, options: FieldOptions = {}): Html {
    return this.#input('number', attribute, textValue, options)
  }

  /** Renders a date field. */
  date(attribute: string, options: FieldOptions = {}): Html {
    return this.#input('date', attribute, dateValue, options)
  }

  /** Renders a time field. */
  time(attribute: string, options: FieldOptions = {}): Html {
    return this.#input('time', attribute, timeValue, { step: 'any', ...options })
  }

  /** Renders a datetime field in UTC, which its hint states. */
  dateTime(attribute: string, options: FieldOptions = {}): Html {
    const hint = this.context.t('kit.utc')
    return this.#input('datetime-local', attribute, dateTimeValue, { step: 'any', hint, ...options })
  }

  /** Renders a multi-line text field for JSON. */
  json(attribute: string, options: FieldOptions = {}): Html {
    // Text that is not JSON is shown as it was sent.
    const isSubmitted = this.context.submittedValue?.(this.record, attribute) !== undefined
    return this.#textarea(attribute, isSubmitted ? textValue : jsonValue, {
      class: 'code',
      spellcheck: 'false',
      ...options,
    })
  }

  /** Renders a checkbox. The hidden field before it sends `false` if the checkbox is not ticked. */
  checkbox(attribute: string, options: FieldOptions = {}): Html {
    const value = this.#value(attribute)
    const checked = value === true || value === 'true'
    const input = this.#attributes(attribute, options, { type: 'checkbox', value: 'true', checked })
    return html`<div class="field checkbox">
      ${hiddenField(attribute, 'false')}<input${input} />
      <label for="${this.#id(attribute)}">${this.#label(attribute, options)}</label>
      ${this.#hint(attribute, options)}${this.#error(attribute)}
    </div>`
  }

  /**
   * Renders a select. The choices are words (`['draft', 'public']`, labeled by translations such as `post.state.draft`),
   * values with labels, or records.
   */
  select(attribute: string, choices: readonly Choice[], options: FieldOptions = {}): Html {
    const selected = textValue(this.#value(attribute))
    const isChosen = choices.some((choice) => choiceValue(choice) === selected)
    const blank = blankOption(this.context.t(options.required ? 'kit.choose' : 'kit.none'))
    const labelOf = (word: string) => label(this.context, `${this.#name}.${attribute}.${word}`)
    return this.#field(
      attribute,
      options,
      html`<select${this.#attributes(attribute, options)}>
        ${!(options.required && isChosen) && blank}${choices.map((choice) => option(choice, selected, labelOf))}
      </select>`,
    )
  }

  #input(type: string, attribute: string, format: (value: unknown) => string, options: FieldOptions): Html {
    const value = options.type === 'password' ? undefined : format(this.#value(attribute))
    return this.#field(
      attribute,
      options,
      html`<input${this.#attributes(attribute, options, { type, value })} />`,
    )
  }

  /** Browsers drop a line break right after the tag. The additional one preserves a line break at the start of the text. */
  #textarea(attribute: string, format: (value: unknown) => string, options: FieldOptions): Html {
    const tag = this.#attributes(attribute, options)
    return this.#field(
      attribute,
      options,
      html`<textarea${tag}>${'\n'}${format(this.#value(attribute))}</textarea>`,
    )
  }

  #field(attribute: string, options: FieldOptions, input: Html): Html {
    const optional =
      !options.required && html` <span class="optional">${this.context.t('kit.optional')}</span>`
    return html`<div class="field">
      <label for="${this.#id(attribute)}">${this.#label(attribute, options)}${optional}</label>
      ${this.#hint(attribute, options)}${input}${this.#error(attribute)}
    </div>`
  }

  #attributes(attribute: string, options: FieldOptions, defaults: Attributes = {}): Html {
    const isInvalid = this.#messages(attribute).length > 0
    const describedBy = [
      options.hint && this.#id(attribute, 'hint'),
      isInvalid && this.#id(attribute, 'error'),
    ]
    return attributes({
      id: this.#id(attribute),
      name: attribute,
      ...defaults,
      ...options,
      label: undefined,
      hint: undefined,
      'aria-describedby': describedBy.filter(Boolean).join(' ') || undefined,
      'aria-invalid': isInvalid ? 'true' : undefined,
    })
  }

  #label(attribute: string, options: FieldOptions): string {
    return options.label ?? label(this.context, `${this.#name}.${attribute}`)
  }

  #hint(attribute: string, { hint }: FieldOptions): Html | undefined {
    return hint ? html`<p class="hint" id="${this.#id(attribute, 'hint')}">${hint}</p>` : undefined
  }

  #error(attribute: string): Html | undefined {
    const messages = this.#messages(attribute)
    if (messages.length === 0) return undefined
    return html`<p class="error" id="${this.#id(attribute, 'error')}">${messages.join(' ')}</p>`
  }

  #errorLink(attribute: string, message: string): Html {
    return html`<li><a href="#${this.#id(attribute)}">${message}</a></li>`
  }

  #messages(attribute: string): string[] {
    return this.#errors?.on(attribute) ?? []
  }

  /** The submitted value, if it could not be converted to the attribute's type; otherwise the record's value. */
  #value(attribute: string): unknown {
    const value: unknown = Reflect.get(this.record, attribute)
    return this.context.submittedValue?.(this.record, attribute) ?? value
  }

  #id(attribute: string, part?: 'hint' | 'error'): string {
    return [this.#name, attribute, part].filter(Boolean).join('_')
  }
}
