import {
  blankOption,
  choiceLabel,
  choiceValue,
  idHint,
  offer,
  option,
  type Choice,
  type Offer,
  type Offered,
} from './choices.js'
import { Fields, type FieldOptions, type FormOptions } from './fields.js'
import { actionPath, hiddenField, hiddenFields, type FormMethod } from './hidden-fields.js'
import { isNewRecord } from '../../data/records/save.js'
import { versionField } from '../../http/preconditions.js'
import { recordName } from '../../naming/words.js'
import { attributes, html, inputTag, type Html } from '../html.js'
import { dateTimeValue, dateValue, jsonValue, textValue, timeValue } from './input-values.js'
import { label } from '../labels.js'
import type { ViewContext } from '../view-context.js'

/**
 * The form of a record. Each method renders a complete field: label, hint, input, value and errors.
 *
 * @example form.text('title', { required: true })
 */
export class Form extends Fields {
  readonly action: string
  readonly #method: FormMethod
  #hasFile = false

  constructor(
    context: ViewContext,
    private readonly record: object,
    { action, method = 'POST', errors, name = recordName(record.constructor.name) }: FormOptions,
  ) {
    super(context, name, errors)
    this.action = actionPath(action)
    this.#method = method
  }

  /** Renders the hidden fields: `_method`, the CSRF token, the version of a saved record, and the key of a new record. */
  hiddenFields(): Html {
    const version = versionField(this.record)
    const key = this.#method === 'POST' && isNewRecord(this.record) && this.context.newKey?.()
    const versionOrKey = version
      ? hiddenField(version.name, version.value)
      : key && hiddenField('idempotency_key', key)
    return html`${hiddenFields(this.context, this.#method)}${versionOrKey}`
  }

  /** Renders the errors, with a link to each field. The browser focuses the summary when the page opens. Empty without errors. */
  errorSummary(): Html {
    return this.summary('kit.errors', (attribute) => attribute !== 'base')
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

  /** Renders a datetime field in the visitor's time zone, which its hint states. */
  dateTime(attribute: string, options: FieldOptions = {}): Html {
    const { timeZone } = this.context
    const zone = timeZone.replaceAll('_', ' ')
    const hint = this.context.t(timeZone === 'UTC' ? 'kit.utc' : 'kit.time_zone', { zone })
    const format = (value: unknown) => dateTimeValue(value, timeZone)
    return this.#input('datetime-local', attribute, format, { step: 'any', hint, ...options })
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
    const value = this.#currentValue(attribute)
    const checked = value === true || value === 'true'
    const input = this.attributesOf(attribute, options, { type: 'checkbox', value: 'true', checked })
    return html`<div class="field checkbox">
      ${hiddenField(attribute, 'false')}${inputTag(input)}
      <label for="${this.idOf(attribute)}">${this.labelOf(attribute, options)}</label>
      ${this.hintOf(attribute, options.hint)}${this.errorOf(attribute)}
    </div>`
  }

  /**
   * Renders a select. The choices are words (`['draft', 'public']`, labeled by translations such as `post.state.draft`),
   * values with labels, records, or what `ctx.choices` returns. If there are too many records for a select, it is a text field
   * for the id, with the current name and a link to the list. With `multiple: true`, several choices can be selected.
   */
  select(attribute: string, choices: Offered, options: FieldOptions = {}): Html {
    const selected = this.#values(attribute)
    const offered = offer(choices, this.context, selected)
    if (!offered.isComplete) {
      return options.multiple
        ? this.checkboxes(attribute, choices, options)
        : this.#idField(attribute, offered, options)
    }
    // A required field with a value needs no empty option.
    const isChosen = offered.choices.some((choice) => selected.includes(choiceValue(choice)))
    const blank = blankOption(this.context.t(options.required ? 'kit.choose' : 'kit.none'))
    return this.field(
      attribute,
      options,
      html`${options.multiple && hiddenField(attribute, '')}<select${this.attributesOf(attribute, options)}>
        ${!options.multiple && !(options.required && isChosen) && blank}${offered.choices.map((choice) =>
          option(choice, selected, (word) => this.#wordLabel(attribute, word)),
        )}
      </select>`,
    )
  }

  /**
   * Renders a group of checkboxes for a list: `form.checkboxes('label_ids', labels)`. The choices are those of `select`. The
   * hidden field above the boxes sends an empty list if no checkbox is ticked. If there are too many records, it has boxes
   * for the selected ones, and a text field for the id of another one.
   */
  checkboxes(attribute: string, choices: Offered, options: FieldOptions = {}): Html {
    const offered = offer(choices, this.context, this.#values(attribute))
    const hint = offered.isComplete ? options.hint : idHint(this.context, offered)
    const boxes = offered.choices.map((choice, index) => this.#box(attribute, choice, index, options))
    if (!offered.isComplete) boxes.push(...this.#otherIds(attribute, offered))
    const isEmpty = boxes.length === 0
    const group = attributes({
      class: 'field checkboxes',
      // Error messages link to the first box, or to the group if there is none.
      id: isEmpty && this.idOf(attribute),
      'aria-describedby': this.descriptionOf(attribute, hint),
    })
    return html`<fieldset${group}>
      <legend>${this.labelOf(attribute, options)}</legend>
      ${this.hintOf(attribute, hint)}${hiddenField(attribute, '')}${boxes}
      ${isEmpty && html`<p>${this.context.t('kit.empty')}</p>`}${this.errorOf(attribute)}
    </fieldset>`
  }

  /** Renders a file field. The button of `submit` then sends the form as multipart. */
  file(attribute: string, options: FieldOptions = {}): Html {
    this.#hasFile = true
    return this.#input('file', attribute, () => '', { value: undefined, ...options })
  }

  /** Renders the button that sends the form. If the form has a file field, it sends the form as multipart. */
  submit(text = this.context.t('kit.save')): Html {
    const enctype = this.#hasFile && 'multipart/form-data'
    return html`<button${attributes({ class: 'primary', type: 'submit', formenctype: enctype })}>${text}</button>`
  }

  #input(type: string, attribute: string, format: (value: unknown) => string, options: FieldOptions): Html {
    const value = options.type === 'password' ? undefined : format(this.#currentValue(attribute))
    return this.field(attribute, options, inputTag(this.attributesOf(attribute, options, { type, value })))
  }

  /** Browsers drop a line break right after the tag. The additional one preserves a line break at the start of the text. */
  #textarea(attribute: string, format: (value: unknown) => string, options: FieldOptions): Html {
    const text = format(this.#currentValue(attribute))
    const tag = this.attributesOf(attribute, options)
    return this.field(attribute, options, html`<textarea${tag}>${'\n'}${text}</textarea>`)
  }

  /** The submitted value, if it could not be converted to the attribute's type; otherwise the record's value. */
  #currentValue(attribute: string): unknown {
    const value: unknown = Reflect.get(this.record, attribute)
    return this.context.submittedValue?.(this.record, attribute) ?? value
  }

  /** Renders a checkbox of a group. */
  #box(attribute: string, choice: Choice, index: number, options: FieldOptions): Html {
    const value = choiceValue(choice)
    const id = this.#partId(attribute, index)
    const input = attributes({
      ...options,
      label: undefined,
      hint: undefined,
      required: undefined,
      multiple: undefined,
      type: 'checkbox',
      id,
      name: attribute,
      value,
      checked: this.#values(attribute).includes(value),
      'aria-invalid': this.invalidOf(attribute),
    })
    return html`<div class="choice">
      ${inputTag(input)}
      <label for="${id}">${choiceLabel(choice, (word) => this.#wordLabel(attribute, word))}</label>
    </div>`
  }

  /** Renders a text field for the id of one more record, or a field for each submitted value that no choice has. */
  #otherIds(attribute: string, { choices }: Offer): Html[] {
    const offered = choices.map(choiceValue)
    const others = this.#values(attribute).filter((value) => value !== '' && !offered.includes(value))
    return (others.length > 0 ? others : ['']).map((value, index) => {
      const id = this.#partId(attribute, offered.length + index)
      const input = { type: 'text', id, name: attribute, value, 'aria-invalid': this.invalidOf(attribute) }
      return html`<label for="${id}">${this.context.t('kit.another_id')}</label>
        ${inputTag(attributes(input))}`
    })
  }

  /** The first part has the id of the attribute, to which error messages link. */
  #partId(attribute: string, index: number): string {
    return index === 0 ? this.idOf(attribute) : this.idOf(attribute, String(index + 1))
  }

  /** A text field for the id of a record. */
  #idField(attribute: string, offered: Offer, options: FieldOptions): Html {
    const value = textValue(this.#currentValue(attribute))
    const selected = offered.choices.find((choice) => choiceValue(choice) === value)
    const hint = idHint(this.context, offered, selected)
    const tag = this.attributesOf(attribute, { ...options, hint: String(hint) }, { type: 'text', value })
    return this.field(attribute, options, inputTag(tag), hint)
  }

  /** The values of a list, or the only value. */
  #values(attribute: string): string[] {
    return [this.#currentValue(attribute)].flat().map(textValue)
  }

  #wordLabel(attribute: string, word: string): string {
    return label(this.context, `${this.name}.${attribute}.${word}`)
  }
}
