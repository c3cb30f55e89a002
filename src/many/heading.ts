import type { EntityMetadata } from 'typeorm'
import type { Context } from '../context.js'
import { ValidationErrors } from '../errors.js'
import {
  attributesOf,
  versionOf,
  type Attribute,
  type AttributeKind,
} from '../models/attributes/attributes.js'
import { exposedName, isHiddenProperty } from '../models/attributes/transform-metadata.js'
import { attributeName } from '../models/validation/validation.js'
import { nearest } from '../naming/spelling.js'
import { importOptions } from '../resources/many-options.js'
import { columnsOf, type Column } from './columns.js'

/** A column that a file may have. */
export interface Known {
  name: string
  label: string
  /** Its cells are a field of the body, the attribute of a referred record, the id, or nothing that is written. */
  use: 'field' | 'reference' | 'id' | 'ignored'
  /** The attribute that it sets. */
  sets: string
  kind: AttributeKind
  /** The attribute of the referred record. */
  reference?: Column
  /** The values of an enum, or the kind of the values. */
  values: string
  isRequired: boolean
}

/** The maximum number of wrong columns that are reported. */
const maxErrors = 20

/** The columns that a file of a resource may have. */
export class Heading {
  readonly known: readonly Known[]
  /** The attribute by which a line finds its record. */
  readonly key: string | undefined
  private readonly byText = new Map<string, Known>()

  constructor(ctx: Context, metadata: EntityMetadata) {
    const { model = Object, fields = [], many } = ctx.route.resource ?? {}
    this.key = importOptions(many).key
    const isWritten = ({ name, lines }: Attribute): boolean =>
      fields.includes(name) && !ctx.pathKeys.has(name) && !lines
    const attributes = new Map(
      attributesOf(model)
        .filter(isWritten)
        .map((it) => [it.name, it]),
    )
    const labelOf = (name: string): string => String(attributeName(model, name, ctx.translate))
    const own = metadata.columns
      .filter((it) => !it.isVirtual && it.isSelect && !isHiddenProperty(model, it.propertyName))
      .map(({ propertyPath: sets }): Known => {
        const [isId, isField] = [sets === 'id', attributes.has(sets) || sets === versionOf(model)]
        const use = isId && this.key === 'id' ? 'id' : isField ? 'field' : 'ignored'
        // Of the other attributes, only the version is written.
        const { kind = isId ? 'uuid' : 'int', values = [], nullable = true } = attributes.get(sets) ?? {}
        const shown = { label: labelOf(sets), values: values.join(', ') || kind, isRequired: !nullable }
        return { name: exposedName(model, sets), use, sets, kind, ...shown }
      })
    const references = columnsOf(metadata, many?.csv).flatMap((reference): Known[] => {
      const { name, kind, relation } = reference
      if (!relation) return []
      const sets = relation.joinColumns[0]?.propertyName ?? ''
      const use = attributes.has(sets) ? 'reference' : 'ignored'
      const shown = { label: labelOf(sets), values: kind, isRequired: !relation.isNullable }
      return [{ name, use, sets, kind, reference, ...shown }]
    })
    this.known = [...own, ...references]
    // A name counts before a label.
    for (const column of this.known) this.byText.set(textOf(column.name), column)
    for (const column of own)
      if (!this.byText.has(textOf(column.label))) this.byText.set(textOf(column.label), column)
  }

  /** Finds the column of a heading: by its name, or by its label in the language of the page. */
  find(text: string): Known | undefined {
    return this.byText.get(textOf(text))
  }

  /**
   * Reads the first line of a file. The column of a heading without text has no cells.
   *
   * @returns the columns, or the errors of the line
   */
  read(cells: readonly string[]): (Known | undefined)[] | ValidationErrors {
    const { known, key } = this
    const errors = new ValidationErrors()
    const columns = cells.map((text) => this.find(text))
    const sets = new Set<string>()
    for (const [index, column] of columns.entries()) {
      const text = cells[index]?.trim().slice(0, 100) ?? ''
      if (text === '') continue
      if (errors.fields.size >= maxErrors) break
      if (!column) {
        const near = nearest(
          text,
          known.map(({ name }) => name),
        )
        errors.add(text, near === undefined ? 'csv.column' : 'csv.column_near', undefined, {
          column: text,
          near,
        })
      } else if (sets.has(column.sets) && column.use !== 'ignored')
        errors.add(column.name, 'csv.repeated', undefined, { line: 1 })
      if (column) sets.add(column.sets)
    }
    if (!errors.isEmpty) return errors
    if (!columns.some((column) => column?.use === 'field' || column?.use === 'reference'))
      return errors.add('base', 'csv.heading')
    if (key !== undefined && !sets.has(key)) return errors.add(key, 'csv.key', undefined, { key })
    return columns
  }
}

function textOf(heading: string): string {
  return heading.trim().toLowerCase()
}
