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
import { FileField } from './file-field.js'
import { Fields, type FieldOptions, type FormOptions } from './fields.js'
import { actionPath, hiddenField, hiddenFields, type FormMethod } from './hidden-fields.js'
import { filesOf } from '../../models/attributes/attributes.js'
import { isNewRecord } from '../../records/save.js'
import { sizeText } from '../../http/body/rejected-files.js'
import { versionField } from '../../http/preconditions.js'
import { recordName } from '../../naming/words.js'
import { attributes, html, inputTag, type Attributes, type Html } from '../html.js'
import { aRow, rowsOf, rowTitle, type FormRow } from './rows.js'
import { ValidationErrors } from '../../errors.js'
import { canHold } from './input-types.js'
import {
  dateTimeValue,
  dateTimeWithOffset,
  dateValue,
  jsonValue,
  textValue,
  timeValue,
} from '../../common/input-values.js'
import { label } from '../labels.js'
import type { ViewContext } from '../view-context.js'

/**
 * The form of a record. Each method renders a complete field: label, hint, input, value and errors.
 *
 * @example form.text('title', { required: true })
 */
export class Form extends Fields {
  readonly action: string
  private readonly method: FormMethod
  private hasFile = false

  constructor(
    context: ViewContext,
    private readonly record: object,
    { action, method = 'POST', errors, name = recordName(record.constructor.name) }: FormOptions,
  ) {
    super(context, name, errors)
    this.action = actionPath(action)
    this.method = method
  }

  /** Renders the hidden fields: `_method`, CSRF token, version of a saved record, key of a new one. */
  hiddenFields(): Html {
    const version = versionField(this.record)
    const key = this.method === 'POST' && isNewRecord(this.record) && this.context.newKey?.()
    const versionOrKey = version
      ? hiddenField(version.name, version.value)
      : key && hiddenField('idempotency_key', key)
    return html`${hiddenFields(this.context, this.method)}${versionOrKey}`
  }

  /** Renders the errors, with a link to each field. The page opens with its focus. Empty without errors. */
  errorSummary(): Html {
    return this.summary('kit.errors', (attribute) => attribute !== 'base')
  }

  /**
   * Renders a text field. Set `type` for an email address, a password, a phone number and so on. A value with
   * line breaks is shown in a multi-line field, because browsers remove them from others.
   */
  text(attribute: string, options: FieldOptions = {}): Html {
    return this.input('text', attribute, textValue, options)
  }

  /** Renders a multi-line text field. */
  textarea(attribute: string, options: FieldOptions = {}): Html {
    return this.area(attribute, textValue, options)
  }

  /** Renders a number field. It accepts whole numbers only, unless you set `step` (`0.01`, or `any`). */
  number(attribute: string, options: FieldOptions = {}): Html {
    return this.input('number', attribute, textValue, options)
  }

  /** Renders a date field. */
  date(attribute: string, options: FieldOptions = {}): Html {
    return this.input('date', attribute, dateValue, options)
  }

  /** Renders a time field. */
  time(attribute: string, options: FieldOptions = {}): Html {
    return this.input('time', attribute, timeValue, { step: 'any', ...options })
  }

  /**
   * Renders a datetime field in the visitor's time zone, which its hint states. The hidden field before it
   * has the same time with its offset, which counts while the visitor doesn't change the time.
   */
  dateTime(attribute: string, options: FieldOptions = {}): Html {
    const { timeZone } = this.context
    const zone = timeZone.replaceAll('_', ' ')
    const hint = this.context.t(timeZone === 'UTC' ? 'kit.utc' : 'kit.time_zone', { zone })
    const format = (value: unknown) => dateTimeValue(value, timeZone)
    const withOffset = dateTimeWithOffset(this.currentValue(attribute), timeZone)
    const hidden = withOffset === undefined ? undefined : hiddenField(this.nameOf(attribute), withOffset)
    return this.input('datetime-local', attribute, format, { step: 'any', hint, ...options }, hidden)
  }

  /** Renders a multi-line text field for JSON. */
  json(attribute: string, options: FieldOptions = {}): Html {
    // Text that is not JSON is shown as it was sent.
    const isSubmitted = this.context.submittedValue?.(this.record, attribute) !== undefined
    return this.area(attribute, isSubmitted ? textValue : jsonValue, {
      class: 'code',
      spellcheck: 'false',
      ...options,
    })
  }

  /**
   * Renders a checkbox. The hidden field before it sends `false` if the checkbox is not ticked, or an empty
   * value if the column of a saved record is NULL.
   */
  checkbox(attribute: string, options: FieldOptions = {}): Html {
    const value = this.currentValue(attribute)
    const unticked = value === null && !isNewRecord(this.record) ? '' : 'false'
    const checked = value === true || value === 'true'
    const input = this.attributesOf(attribute, options, { type: 'checkbox', value: 'true', checked })
    return html`<div class="field checkbox">
      ${hiddenField(this.nameOf(attribute), unticked)}${inputTag(input)}
      <label for="${this.idOf(attribute)}">${this.labelOf(attribute, options)}</label>
      ${this.hintOf(attribute, options.hint)}${this.errorOf(attribute)}
    </div>`
  }

  /**
   * Renders a select. The choices are words (`['draft', 'public']`, labeled by translations such as
   * `post.state.draft`), values with labels, records, or what `ctx.choices` returns. If there are too many
   * records for a select, it is a text field for the id, with the current name and a link to the list. With
   * `multiple: true`, several choices can be selected. A value of the record that is not one of the choices
   * is one more choice, so that it stays as it is.
   */
  select(attribute: string, choices: Offered, options: FieldOptions = {}): Html {
    const selected = this.values(attribute)
    const offered = this.offer(attribute, choices)
    if (!offered.isComplete) {
      return options.multiple
        ? this.checkboxes(attribute, choices, options)
        : this.idField(attribute, offered, options)
    }
    // A required field with a value needs no empty option.
    const isChosen = offered.choices.some((choice) => selected.includes(choiceValue(choice)))
    const blank = blankOption(this.context.t(options.required ? 'kit.choose' : 'kit.none'))
    return this.field(
      attribute,
      options,
      html`${options.multiple && hiddenField(this.nameOf(attribute), '')}<select${this.attributesOf(attribute, options)}>
        ${!options.multiple && !(options.required && isChosen) && blank}${offered.choices.map((choice) =>
          option(choice, selected, (word) => this.wordLabel(attribute, word)),
        )}
      </select>`,
    )
  }

  /**
   * Renders a group of checkboxes for a list: `form.checkboxes('label_ids', labels)`. The choices are those
   * of `select`. The hidden field above the boxes sends an empty list if no checkbox is ticked. If there are
   * too many records, it has boxes for the selected ones, and a text field for the id of another one.
   */
  checkboxes(attribute: string, choices: Offered, options: FieldOptions = {}): Html {
    const offered = this.offer(attribute, choices)
    const hint = offered.isComplete ? options.hint : idHint(this.context, offered)
    const boxes = offered.choices.map((choice, index) => this.box(attribute, choice, index, options))
    if (!offered.isComplete) boxes.push(...this.otherIds(attribute, offered))
    const isEmpty = boxes.length === 0
    const group = attributes({
      class: 'field checkboxes',
      // Error messages link to the first box, or to the group if there is none.
      id: isEmpty && this.idOf(attribute),
      'aria-describedby': this.descriptionOf(attribute, hint),
    })
    return html`<fieldset${group}>
      <legend>${this.labelOf(attribute, options)}</legend>
      ${this.hintOf(attribute, hint)}${hiddenField(this.nameOf(attribute), '')}${boxes}
      ${isEmpty && html`<p>${this.context.t('kit.empty')}</p>`}${this.errorOf(attribute)}
    </fieldset>`
  }

  /**
   * Renders a file field. The button of `submit` then sends the form as multipart. For an attribute with
   * stored files, the field shows them, and the hint states which files are accepted. Else the hint states
   * how large all files together may be, which `application.js` checks before the form is sent.
   */
  file(attribute: string, options: FieldOptions = {}): Html {
    this.hasFile = true
    const stored = filesOf(this.record.constructor).find(({ name }) => name === attribute)
    if (stored) {
      const place = { idBase: this.idBase(), nameOf: (name: string) => this.nameOf(name) }
      const field = new FileField(this.context, this.name, this.errors, place)
      return field.render(stored, Reflect.get(this.record, attribute), options)
    }
    const { filesLimit } = this.context
    const max = filesLimit === undefined ? undefined : sizeText(filesLimit)
    const values = { attribute: this.labelOf(attribute, options), max }
    return this.input('file', attribute, () => '', {
      value: undefined,
      hint: max && this.context.t('kit.files_limit', values),
      'data-files-limit': filesLimit,
      'data-files-message': max && this.context.t('validation.file_size', values),
      ...options,
    })
  }

  /**
   * The rows of a list with `@Nested`: those that were sent, or those of the record, and empty ones. Each has
   * the methods of a form.
   *
   * @example
   * ```pug
   * each row in form.rows('lines')
   *   fieldset.row
   *     != row.hiddenFields()
   *     != row.number('quantity')
   *     != row.remove()
   * != form.addRow('lines')
   * ```
   * @throws DeclarationError when the model has no such list, or when the `fields` of the resource lack it
   */
  rows(name: string): Row[] {
    const { context, record, errors } = this
    return rowsOf(context, record, this.name, name).map(
      (row) => new Row(context, row, this.idOf(name), errors, () => (this.hasFile = true)),
    )
  }

  /** Renders the errors of a list, and the button that adds rows; without JavaScript, by the form. */
  addRow(name: string): Html {
    const button = attributes({
      type: 'submit',
      id: this.idOf(name),
      formaction: `${this.action}${this.action.includes('?') ? '&' : '?'}rows=${name}`,
      formenctype: this.enctype,
      formnovalidate: true,
      'data-add-row': name,
      'aria-describedby': this.descriptionOf(name, undefined),
    })
    return html`${this.errorOf(name)}<button${button}>${this.context.t('kit.add_row', { row: aRow(this.context, this.name, name) })}</button>`
  }

  protected override placeIn(attribute: string): string {
    const [, name, index] = /^(\w+)\.(\d+)\./.exec(attribute) ?? []
    return name === undefined ? '' : `${rowTitle(this.context, this.name, name, Number(index))}: `
  }

  /** Renders the button that sends the form. If the form has a file field, it sends the form as multipart. */
  submit(text = this.context.t('kit.save')): Html {
    return html`<button${attributes({ class: 'primary', type: 'submit', formenctype: this.enctype })}>${text}</button>`
  }

  private get enctype(): Attributes[string] {
    return this.hasFile && 'multipart/form-data'
  }

  /** Renders an input. A value that browsers would change in this type is in a text field. */
  private input(
    defaultType: string,
    attribute: string,
    format: (value: unknown) => string,
    options: FieldOptions,
    hidden?: Html,
  ): Html {
    const type = String(options.type ?? defaultType)
    const value = type === 'password' ? undefined : format(this.currentValue(attribute))
    if (value === undefined || canHold(type, value)) {
      const tag = inputTag(this.attributesOf(attribute, options, { type, value }))
      return this.field(attribute, options, html`${hidden}${tag}`)
    }
    // These attributes belong to other types.
    const rest = { ...options, type: undefined, step: undefined, min: undefined, max: undefined }
    if (!canHold('text', value)) return this.area(attribute, format, rest)
    const tag = inputTag(this.attributesOf(attribute, { ...rest, type: 'text' }, { value }))
    return this.field(attribute, options, tag)
  }

  /** Browsers drop a line break right after the tag. Another one preserves that of the text. */
  private area(attribute: string, format: (value: unknown) => string, options: FieldOptions): Html {
    const text = format(this.currentValue(attribute))
    const tag = this.attributesOf(attribute, options)
    return this.field(attribute, options, html`<textarea${tag}>${'\n'}${text}</textarea>`)
  }

  /** The submitted value, if it could not be converted to its type; otherwise the record's value. */
  private currentValue(attribute: string): unknown {
    const value: unknown = Reflect.get(this.record, attribute)
    return this.context.submittedValue?.(this.record, attribute) ?? value
  }

  /** Renders a checkbox of a group. */
  private box(attribute: string, choice: Choice, index: number, options: FieldOptions): Html {
    const value = choiceValue(choice)
    const id = this.partId(attribute, index)
    const input = attributes({
      ...options,
      label: undefined,
      hint: undefined,
      required: undefined,
      multiple: undefined,
      type: 'checkbox',
      id,
      name: this.nameOf(attribute),
      value,
      checked: this.values(attribute).includes(value),
      'aria-invalid': this.invalidOf(attribute),
    })
    return html`<div class="choice">
      ${inputTag(input)}
      <label for="${id}">${choiceLabel(choice, (word) => this.wordLabel(attribute, word))}</label>
    </div>`
  }

  /** Renders a text field for the id of one more record, or one for each submitted value without a choice. */
  private otherIds(attribute: string, { choices }: Offer): Html[] {
    const offered = choices.map(choiceValue)
    const others = this.values(attribute).filter((value) => value !== '' && !offered.includes(value))
    return (others.length > 0 ? others : ['']).map((value, index) => {
      const id = this.partId(attribute, offered.length + index)
      const input = {
        type: 'text',
        id,
        name: this.nameOf(attribute),
        value,
        'aria-invalid': this.invalidOf(attribute),
      }
      return html`<label for="${id}">${this.context.t('kit.another_id')}</label>
        ${inputTag(attributes(input))}`
    })
  }

  /** The first part has the id of the attribute, to which error messages link. */
  private partId(attribute: string, index: number): string {
    return index === 0 ? this.idOf(attribute) : this.idOf(attribute, String(index + 1))
  }

  /** A text field for the id of a record. */
  private idField(attribute: string, offered: Offer, options: FieldOptions): Html {
    const value = textValue(this.currentValue(attribute))
    const selected = offered.choices.find((choice) => choiceValue(choice) === value)
    const hint = idHint(this.context, offered, selected)
    const tag = this.attributesOf(attribute, { ...options, hint: String(hint) }, { type: 'text', value })
    return this.field(attribute, options, inputTag(tag), hint)
  }

  /** The choices of a field. Without an error, the record's values that are no choices follow. */
  private offer(attribute: string, choices: Offered): Offer {
    const offered = offer(choices, this.context, this.values(attribute))
    if (!offered.isComplete || this.invalidOf(attribute)) return offered
    const values = offered.choices.map(choiceValue)
    const others = this.values(attribute).filter((value) => value !== '' && !values.includes(value))
    const areWords = offered.choices.every((choice) => typeof choice === 'string')
    const more = others.map((value): Choice => (areWords ? value : { value, label: value }))
    return more.length > 0 ? { ...offered, choices: [...offered.choices, ...more] } : offered
  }

  /** The values of a list, or the only value. */
  private values(attribute: string): string[] {
    return [this.currentValue(attribute)].flat().map(textValue)
  }

  private wordLabel(attribute: string, word: string): string {
    return label(this.context, `${this.name}.${attribute}.${word}`)
  }
}

/** A row of a form: the fields of one line. */
export class Row extends Form {
  /**
   * @param base the beginning of the ids of all rows
   * @param noteFile lets the form send files
   */
  constructor(
    context: ViewContext,
    private readonly row: FormRow,
    private readonly base: string,
    errors: ValidationErrors | undefined,
    private readonly noteFile: () => void,
  ) {
    const own = new ValidationErrors()
    const prefix = `${row.list}.${row.index}.`
    for (const [field, violations] of errors?.fields ?? [])
      if (`${field}.`.startsWith(prefix)) own.fields.set(field.slice(prefix.length), violations)
    super(context, row.line, { action: '', errors: own })
  }

  /** Renders the row's legend, its errors, and the hidden fields with the id and the place of the line. */
  override hiddenFields(): Html {
    const { index, line, title } = this.row
    const id: unknown = Reflect.get(line, 'id')
    return html`<legend id="${this.idBase()}" tabindex="-1">${title}</legend>
      ${typeof id === 'string' && hiddenField(this.nameOf('id'), id)}${hiddenField(this.nameOf('position'), String(index))}${this.errorOf('')}`
  }

  /** Renders a checkbox that removes the line when the form is sent. An empty row has none. */
  remove(): Html {
    const { title, isRemoved, isEmpty } = this.row
    if (isEmpty) return html``
    const id = this.idOf('_remove')
    const box = { type: 'checkbox', id, name: this.nameOf('_remove'), value: 'true', checked: isRemoved }
    return html`<div class="field checkbox remove-row">
      ${inputTag(attributes(box))}
      <label for="${id}">${this.context.t('kit.remove_row', { title })}</label>
    </div>`
  }

  override file(attribute: string, options: FieldOptions = {}): Html {
    this.noteFile()
    return super.file(attribute, options)
  }

  protected override idBase(): string {
    return `${this.base}_${this.row.index}`
  }

  protected override nameOf(attribute: string): string {
    return `${this.row.list}[${this.row.index}][${attribute}]`
  }

  /** A browser must not require the fields of a new row, which is dropped if it is blank. */
  protected override attributesOf(attribute: string, options: FieldOptions, defaults: Attributes = {}): Html {
    const isNew = isNewRecord(this.row.line)
    return super.attributesOf(attribute, isNew ? { ...options, required: undefined } : options, defaults)
  }
}
