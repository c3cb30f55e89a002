import type { ValidationErrors } from '../errors.js'
import { recordName } from '../names.js'
import { blankOption, choiceValue, option, type Choice } from './choices.js'
import { hidden, hiddenFields, type FormMethod } from './hidden-fields.js'
import { attributes, html, type Attributes, type Html } from './html.js'
import { dateTimeValue, dateValue, jsonValue, textValue, timeValue } from './input-values.js'
import { label } from './labels.js'
import type { ViewContext } from './view-context.js'

/** Where a form goes, and what was wrong with it the last time. */
export interface FormOptions {
  /** The path that the form is sent to. */
  action: string
  /** `POST` unless given. */
  method?: FormMethod
  /** What was wrong with the record when it was submitted. */
  errors?: ValidationErrors | undefined
  /** The model's name, for ids and translations: `blog_post`. That of the record's class unless given. */
  name?: string
}

/** A field's own label and hint; anything else is an attribute of the input. */
export type FieldOptions = Attributes & { label?: string; hint?: string }

/**
 * The form of a record: each method writes a whole field, which is its label, hint, input, value and errors.
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

  /** The fields that nobody sees: `_method` where HTML cannot send the method, and the token against forged requests. */
  hiddenFields(): Html {
    return hiddenFields(this.context, this.#method)
  }

  /** What is wrong, with a link to each field. It takes the focus when the page opens. Nothing when nothing is wrong. */
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

  /** A line of text. Another `type` makes it an email address, a password, a telephone number and so on. */
  text(attribute: string, options: FieldOptions = {}): Html {
    return this.#input('text', attribute, textValue, options)
  }

  /** Text of several lines. */
  textarea(attribute: string, options: FieldOptions = {}): Html {
    return this.#textarea(attribute, textValue, options)
  }

  /** A number: whole unless `step` says otherwise (`0.01`, or `any`). */
  number(attribute: string, options: FieldOptions = {}): Html {
    return this.#input('number', attribute, textValue, options)
  }

  /** A day. */
  date(attribute: string, options: FieldOptions = {}): Html {
    return this.#input('date', attribute, dateValue, options)
  }

  /** A time of day. */
  time(attribute: string, options: FieldOptions = {}): Html {
    return this.#input('time', attribute, timeValue, { step: 'any', ...options })
  }

  /** A moment, in UTC; the hint says so. */
  dateTime(attribute: string, options: FieldOptions = {}): Html {
    const hint = this.context.t('kit.utc')
    return this.#input('datetime-local', attribute, dateTimeValue, { step: 'any', hint, ...options })
  }

  /** JSON, as text of several lines. */
  json(attribute: string, options: FieldOptions = {}): Html {
    // What could not be read is shown as it was sent.
    const isSubmitted = this.context.submittedValue?.(this.record, attribute) !== undefined
    return this.#textarea(attribute, isSubmitted ? textValue : jsonValue, {
      class: 'code',
      spellcheck: 'false',
      ...options,
    })
  }

  /** A box to tick. The hidden `false` before it is what a box sends that is not ticked. */
  checkbox(attribute: string, options: FieldOptions = {}): Html {
    const value = this.#value(attribute)
    const checked = value === true || value === 'true'
    const input = this.#attributes(attribute, options, { type: 'checkbox', value: 'true', checked })
    return html`<div class="field checkbox">
      ${hidden(attribute, 'false')}<input${input} />
      <label for="${this.#id(attribute)}">${this.#label(attribute, options)}</label>
      ${this.#hint(attribute, options)}${this.#error(attribute)}
    </div>`
  }

  /**
   * A choice of one among several: words (`['draft', 'public']`, labelled by translations such as `post.state.draft`),
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

  /** HTML drops a line break right after the tag: the one here keeps one that the text begins with. */
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

  /** What the user submitted, where it could not be read; else what the record holds. */
  #value(attribute: string): unknown {
    const value: unknown = Reflect.get(this.record, attribute)
    return this.context.submittedValue?.(this.record, attribute) ?? value
  }

  #id(attribute: string, part?: 'hint' | 'error'): string {
    return [this.#name, attribute, part].filter(Boolean).join('_')
  }
}
