import { mediaTypeName } from '../../common/media-type-name.js'
import { tokenOf, type FileAttribute, type ShownFile } from '../../models/attributes/file-attributes.js'
import { sizeText } from '../../http/body/rejected-files.js'
import { attributes, html, inputTag, type Html } from '../html.js'
import { Fields, type FieldOptions } from './fields.js'
import { hiddenField } from './hidden-fields.js'
import type { ValidationErrors } from '../../errors.js'
import type { ViewContext } from '../view-context.js'

/** A field with stored files: the current ones, the input for new ones, and boxes that remove files. */
export class FileField extends Fields {
  /** @param place how the form names its fields and their elements */
  constructor(
    context: ViewContext,
    name: string,
    errors: ValidationErrors | undefined,
    private readonly place: { idBase: string; nameOf: (attribute: string) => string },
  ) {
    super(context, name, errors)
  }

  /** @param value the file or the files of the record */
  render(file: FileAttribute, value: unknown, given: FieldOptions): Html {
    const files = [value].flat().filter(isFile)
    const options = { hint: this.hint(file), ...given }
    return file.isList ? this.list(file, files, options) : this.one(file, files[0], options)
  }

  private one({ name, types }: FileAttribute, file: ShownFile | undefined, options: FieldOptions): Html {
    const token = file && tokenOf(file)
    const canRemove = file && !options.required
    const input = this.input(name, types, { ...options, required: options.required && !file }, file)
    const optional =
      !options.required && html` <span class="optional">${this.context.t('kit.optional')}</span>`
    return html`<div class="field file">
      <label for="${this.idOf(name)}">${this.labelOf(name, options)}${optional}</label>
      ${this.hintOf(name, options.hint)}${file && this.present(name, file)}
      ${token && hiddenField(this.nameOf(name), token)}${canRemove && this.remover(name, file)}${input}${this.errorOf(name)}
    </div>`
  }

  private list({ name, types }: FileAttribute, files: readonly ShownFile[], options: FieldOptions): Html {
    const boxes = files.map((file, index) => {
      const id = this.idOf(name, String(index + 1))
      const box = {
        type: 'checkbox',
        id,
        name: this.nameOf(name),
        value: tokenOf(file) ?? file.id,
        checked: true,
      }
      return html`<div class="choice">
        ${inputTag(attributes(box))} <label for="${id}">${this.link(file)}</label>
      </div>`
    })
    const group = attributes({
      class: 'field file',
      'aria-describedby': this.descriptionOf(name, options.hint),
    })
    // The hidden value sends an empty list if no box is ticked. Without JavaScript, an unticked file is
    // removed.
    return html`<fieldset${group}>
      <legend>${this.labelOf(name, options)}</legend>
      ${this.hintOf(name, options.hint)}${hiddenField(this.nameOf(name), '')}${boxes}
      <label for="${this.idOf(name)}">${this.context.t('kit.add_files')}</label>
      ${this.input(name, types, { ...options, multiple: true, required: options.required && files.length === 0 })}
      ${this.errorOf(name)}
    </fieldset>`
  }

  private input(name: string, types: readonly string[], options: FieldOptions, file?: ShownFile): Html {
    const described = [file && this.idOf(name, 'file'), this.descriptionOf(name, options.hint)]
    return inputTag(
      attributes({
        type: 'file',
        id: this.idOf(name),
        name: this.nameOf(name),
        accept: types.length > 0 && types.join(','),
        ...options,
        label: undefined,
        hint: undefined,
        'aria-describedby': described.filter(Boolean).join(' ') || undefined,
        'aria-invalid': this.invalidOf(name),
      }),
    )
  }

  private present(name: string, file: ShownFile): Html {
    return html`<p class="present" id="${this.idOf(name, 'file')}">${this.link(file)}</p>`
  }

  private link({ filename, byte_size, url }: ShownFile): Html {
    const name = url === null ? html`${filename}` : html`<a href="${url}">${filename}</a>`
    return html`${name} (${sizeText(byte_size)})`
  }

  private remover(name: string, { filename }: ShownFile): Html {
    const id = this.idOf(name, 'remove')
    const box = attributes({ type: 'checkbox', id, name: this.nameOf(name), value: '' })
    const text = this.context.t('kit.remove_file', { name: filename })
    return html`<div class="choice">${inputTag(box)} <label for="${id}">${text}</label></div>`
  }

  protected override idBase(): string {
    return this.place.idBase
  }

  protected override nameOf(attribute: string): string {
    return this.place.nameOf(attribute)
  }

  /** `JPEG, PNG or WebP, at most 10 MiB` */
  private hint({ types, maxSize }: FileAttribute): string {
    const max = sizeText(maxSize)
    if (types.length === 0) return this.context.t('kit.file_hint_any', { max })
    const names = types.map(mediaTypeName)
    const list = new Intl.ListFormat(this.context.locale, { type: 'disjunction' }).format(names)
    return this.context.t('kit.file_hint', { types: list, max })
  }
}

function isFile(value: unknown): value is ShownFile {
  return typeof value === 'object' && value !== null && 'filename' in value
}
