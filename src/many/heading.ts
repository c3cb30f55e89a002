import type { EntityMetadata } from 'typeorm'
import type { Context } from '../context.js'
import { ValidationErrors } from '../errors.js'
import { attributesOf, versionOf, type Attribute } from '../models/attributes/attributes.js'
import { exposedName, isHiddenProperty } from '../models/attributes/transform-metadata.js'
import { attributeName } from '../models/validation/validation.js'
import { nearest } from '../naming/spelling.js'
import { columnsOf, type Column } from './columns.js'

/** A column that a file may have. */
export interface Known {
  name: string
  label: string
  /** Its cells are a field of the body, the attribute of a referred record, the id, or nothing that is written. */
  use: 'field' | 'reference' | 'id' | 'ignored'
  attribute?: Attribute
  reference?: Column
  /** The attribute that it sets. */
  sets: string
  /** The values of an enum, or the kind of the values. */
  values: string
  isRequired: boolean
}

/** The maximum number of wrong columns that are reported. */
const maxErrors = 20

/** The columns that a file of a resource may have. */
export class Heading {
  readonly known: readonly Known[]
  private readonly byText = new Map<string, Known>()

  constructor(ctx: Context, metadata: EntityMetadata) {
    const { model = Object, fields = [], many } = ctx.route.resource ?? {}
    const { pathKeys } = ctx
    const key = many?.import === true ? undefined : many?.import?.key
    const labelOf = (name: string): string => String(attributeName(model, name, ctx.translate))
    const attributes = attributesOf(model).filter(
      ({ name, lines }) => fields.includes(name) && !pathKeys.has(name) && !lines,
    )
    const version = versionOf(model)
    const isWritten = (name: string): boolean => attributes.some((attribute) => attribute.name === name)
    const own = metadata.columns
      .filter((it) => !it.isVirtual && it.isSelect && !isHiddenProperty(model, it.propertyName))
      .map(({ propertyPath: property }): Known => {
        const attribute = attributes.find(({ name }) => name === property)
        const isField = attribute !== undefined || property === version
        const use = property === 'id' && key === 'id' ? 'id' : isField ? 'field' : 'ignored'
        const name = exposedName(model, property)
        const { values = [], kind = '', nullable = true } = attribute ?? {}
        const shown = { values: values.length > 0 ? values.join(', ') : kind, isRequired: !nullable }
        return {
          name,
          label: labelOf(property),
          use,
          sets: property,
          ...shown,
          ...(attribute && { attribute }),
        }
      })
    const references = columnsOf(metadata, many?.csv).flatMap((reference): Known[] => {
      const { relation, name } = reference
      if (!relation) return []
      const sets = relation.joinColumns[0]?.propertyName ?? ''
      const use = isWritten(sets) ? 'reference' : 'ignored'
      const shown = { label: labelOf(sets), values: reference.kind, isRequired: !relation.isNullable }
      return [{ name, use, reference, sets, ...shown }]
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
  read(cells: readonly string[], key: string | undefined): (Known | undefined)[] | ValidationErrors {
    const errors = new ValidationErrors()
    const columns = cells.map((text) => this.find(text))
    const sets = new Map<string, number>()
    for (const [index, column] of columns.entries()) {
      const text = cells[index]?.trim().slice(0, 100) ?? ''
      if (text === '') continue
      if (errors.fields.size >= maxErrors) break
      if (!column) this.addUnknown(errors, text)
      else if (sets.has(column.sets) && column.use !== 'ignored')
        errors.add(column.name, 'csv.repeated', undefined, { line: 1 })
      if (column) sets.set(column.sets, index)
    }
    const used = columns.map((column) => column?.use)
    if (errors.isEmpty && !used.includes('field') && !used.includes('reference'))
      errors.add('base', 'csv.heading')
    if (errors.isEmpty && key !== undefined && !sets.has(key)) errors.add(key, 'csv.key', undefined, { key })
    return errors.isEmpty ? columns : errors
  }

  private addUnknown(errors: ValidationErrors, column: string): void {
    const near = nearest(
      column,
      this.known.map(({ name }) => name),
    )
    errors.add(column, near === undefined ? 'csv.column' : 'csv.column_near', undefined, { column, near })
  }
}

function textOf(heading: string): string {
  return heading.trim().toLowerCase()
}
