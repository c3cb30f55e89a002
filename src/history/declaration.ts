import type { DataSource, EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { isHiddenProperty, isSecretAttribute, idListsOf, memoizeByObject, type IdList } from '../extension.js'
import { DeclarationError, Model } from '../index.js'
import { HistoryEntry } from './entry.js'

/** The options of `@History`. */
export interface HistoryOptions {
  /** The attributes that are not recorded, for example a counter (none). */
  except?: readonly string[]
}

const declared = new Map<Function, HistoryOptions>()

/**
 * Declares that a model has a history: each `ctx.save`, `ctx.destroy` and `ctx.restore` of a record inserts an entry, in the same
 * transaction. The application starts only if `except` names attributes, and if `HistoryEntry` is among the models.
 *
 * @example
 * ```ts
 * @Entity('contracts')
 * @History({ except: ['views'] })
 * export class Contract extends Model {}
 * ```
 * @throws DeclarationError when the class does not extend Model
 */
export function History(options: HistoryOptions = {}) {
  return function history(target: Function): void {
    if (!(target.prototype instanceof Model))
      throw new DeclarationError(
        `@History() is for models, and ${target.name} does not extend Model. Remove it, or extend Model.`,
      )
    declared.set(target, options)
  }
}

/** The options of a model, or of a model that it extends; undefined without a history. */
function optionsOf(target: unknown): HistoryOptions | undefined {
  if (typeof target !== 'function') return undefined
  return declared.get(target) ?? optionsOf(Object.getPrototypeOf(target))
}

/** Whether a model has a history. */
export function hasHistory({ target }: EntityMetadata): boolean {
  return optionsOf(target) !== undefined
}

/** An attribute whose values are recorded: a column, or the ids of links. */
export type Recorded = { name: string; isMasked: boolean } & (
  | { column: ColumnMetadata; links?: undefined }
  | { column?: undefined; links: IdList }
)

/** The recorded attributes of a model, in its order. */
export const recordedOf = memoizeByObject((metadata: EntityMetadata): readonly Recorded[] => {
  const { except = [] } = optionsOf(metadata.target) ?? {}
  const columns = metadata.columns.filter((column) => !isLeftOut(column))
  return [
    ...columns.map((column) => ({ column, name: nameOf(column), isMasked: isMasked(column) })),
    ...idListsOf(metadata).map((links) => ({
      links,
      name: links.property,
      isMasked: isHidden(metadata, links.property),
    })),
  ].filter(({ name }) => !except.includes(name))
})

/** The name of an attribute: the key of a relation without a property has that of its column. */
export function nameOf({ isVirtual, databaseName, propertyPath }: ColumnMetadata): string {
  return isVirtual ? databaseName : propertyPath
}

function isLeftOut(column: ColumnMetadata): boolean {
  const { isPrimary, isCreateDate, isUpdateDate, isVersion, isDeleteDate } = column
  const isSet = isPrimary || isCreateDate || isUpdateDate || isVersion || isDeleteDate
  // The values of generated columns follow from others.
  return isSet || column.isVirtualProperty || column.isDiscriminator || column.asExpression !== undefined
}

/** The column types that no JSON can show. */
const binary = /blob|binary|bytea|^bit/

function isMasked(column: ColumnMetadata): boolean {
  return (
    !column.isSelect ||
    binary.test(typeof column.type === 'string' ? column.type : '') ||
    isHidden(column.entityMetadata, nameOf(column))
  )
}

function isHidden({ target }: EntityMetadata, name: string): boolean {
  return isSecretAttribute(name) || isHiddenProperty(target, name.split('.')[0] ?? name)
}

/**
 * Checks the models of a database.
 *
 * @throws DeclarationError when `except` names no attribute, or when `HistoryEntry` is missing
 */
export function checkHistories(database: DataSource): void {
  for (const metadata of database.entityMetadatas.filter(hasHistory)) {
    entriesOf(database)
    const { except = [] } = optionsOf(metadata.target) ?? {}
    const names = [...metadata.columns.map(nameOf), ...idListsOf(metadata).map(({ property }) => property)]
    const unknown = except.find((name) => !names.includes(name))
    if (unknown !== undefined)
      throw new DeclarationError(
        `@History of ${metadata.targetName} has the exception "${unknown}", which is no attribute. ` +
          `The attributes are: ${names.join(', ')}.`,
      )
  }
}

/**
 * The model of the entries in a database.
 *
 * @throws DeclarationError when the database lacks it
 */
export function entriesOf(database: DataSource): EntityMetadata {
  if (database.hasMetadata(HistoryEntry)) return database.getMetadata(HistoryEntry)
  throw new DeclarationError(
    'HistoryEntry is not among the models of the database. Write src/models/history_entry.ts: ' +
      "export { HistoryEntry } from 'resource-kit/history'.",
  )
}
