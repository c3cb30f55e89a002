import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { camelize } from 'inflection'
import { CommandError } from '../command-errors.js'
import { keysOfTable, readApplication, requireReference } from './application.js'
import { parseAttributes, withoutUnique, type Attribute } from './arguments/attributes.js'
import { SOURCES } from './arguments/kinds.js'
import { fileSteps, migrationsBefore } from './file-steps.js'
import type { FileAction } from './files/files.js'
import { quote } from './files/lines.js'
import { historyFiles, historyMigration } from './history-steps.js'
import { migrationNames } from './migration-names.js'
import { nameOf, snakeCase, tableOf } from './arguments/names.js'
import { indexName, tableLocals, uniqueIndex, whyIndexed } from './tables.js'
import { filesOfScaffolds, renderFiles } from './files/templates.js'
import { nearest } from '../naming/spelling.js'

/**
 * Returns the step that writes a migration. Its name describes the change: `create_posts`, `add_state_to_posts`,
 * `remove_state_from_posts`. With any other name, the migration throws an error until somebody implements it.
 *
 * @param now the time in the migration's name
 * @throws CommandError when the name or an attribute is malformed, when they do not fit together, or when a model is missing
 */
export function migrationActions(
  folder: string,
  word: string,
  attributeWords: readonly string[] = [],
  now?: Date,
): FileAction[] {
  readApplication(folder)
  const name = nameOf('migration', word, 'create_posts or add_state_to_posts')
  if (name === historyMigration && attributeWords.length === 0) return historyFiles(folder, now)
  const { kind, table } = meaningOf(folder, name)
  const parsed = parseAttributes(attributeWords)
  const keys = kind === 'empty' ? [] : keysOfTable(folder, table)
  const isWithin =
    keys.length > 0 && (kind !== 'create' || keys.every((key) => parsed.some(({ name }) => name === key)))
  const attributes = isWithin ? parsed.map(withoutUnique) : parsed
  if (kind === 'empty' && attributes.length > 0) {
    throw new CommandError(
      `The name "${word}" does not tell how to use the attributes. Use a name like create_posts, add_state_to_posts or remove_state_from_posts.`,
    )
  }
  if ((kind === 'add' || kind === 'remove') && attributes.length === 0) {
    throw new CommandError(`"${word}" needs an attribute: kit generate migration ${word} state:string.`)
  }
  if (kind === 'add' || kind === 'create') {
    for (const attribute of attributes) requireReference(folder, table, attribute)
  }
  // The table of files is created before the migration that refers to it.
  const first = kind === 'remove' ? [] : fileSteps(folder, attributes, { now })
  const { file, className } = migrationNames(folder, name, now, migrationsBefore(folder, attributes))
  const uniques = isWithin ? parsed.filter(({ isUnique }) => isUnique).map(({ name }) => [...keys, name]) : []
  const indexed = [
    ...attributes
      .filter(({ isIndexed }) => isIndexed)
      .map(({ name }) => ({ columns: [name], why: whyIndexed(name) })),
    ...uniques.map((columns) => uniqueIndex(columns, table)),
  ]
  const created = tableLocals(table, attributes, indexed)
  const migration = renderFiles(
    folder,
    filesOfScaffolds([`migration/${kind}`]),
    { migration: file },
    {
      migrationClass: className,
      table,
      tables: [{ table, ...created }],
      ...created,
      functions: created.functions.join(', '),
      ...columnLocals(attributes, table, uniques),
    },
  )
  return [...first, ...migration]
}

/**
 * Returns advice about a migration that adds or removes columns: if no model and no migration has the table, and for each new
 * column that needs a value in the existing rows.
 */
export function migrationAdvice(folder: string, word: string, attributeWords: readonly string[]): string[] {
  const { kind, table } = meaningOf(folder, snakeCase(word))
  if (kind !== 'add' && kind !== 'remove') return []
  const tables = tablesIn(folder)
  const near = nearest(table, tables)
  const unknown = `No model and no migration has the table ${table}.${near ? ` Did you mean ${near}?` : ''}`
  const required = parseAttributes(attributeWords).filter(({ isRequired }) => isRequired)
  return [
    ...(tables.includes(table) ? [] : [unknown]),
    ...(kind === 'add' ? required.map((attribute) => adviceOn(attribute, table)) : []),
  ]
}

/** The tables of the models, and those that migrations create. */
function tablesIn(folder: string): string[] {
  const declared = /(?:^@Entity\(|new Table\(\{\s*name: )'(\w+)'/gm
  return ['src/models', 'migrations']
    .map((name) => join(folder, name))
    .filter((path) => existsSync(path))
    .flatMap((path) => readdirSync(path).map((file) => join(path, file)))
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(declared)].map(([, table = '']) => table))
}

/** How existing rows get a value for a required column. They cannot share a unique value, or a reference. */
function adviceOn({ name, kind, isUnique, reference, samples }: Attribute, table: string): string {
  // A default is SQL in a string: text has quotes within it, and numbers have none.
  const sample = `'${samples.json.replaceAll("'", '')}'`
  const value = /^'-?[\d.]+'$/.test(sample) ? sample : `"${sample}"`
  const advice =
    isUnique || reference || SOURCES[kind].lacksDefault
      ? 'Make the column nullable (nulls.X), and fill it'
      : `Add a default to the migration, like { default: ${value} }, or make the column nullable (nulls.X)`
  return `The rows that ${table} already has need a value for ${name}. ${advice}.`
}

/** The change that the name of a migration describes; `empty` for any other name. */
function meaningOf(
  folder: string,
  name: string,
): { kind: 'create' | 'add' | 'remove' | 'empty'; table: string } {
  const [, verb, rest = ''] = /^(create|add|remove)_(\w+)$/.exec(name) ?? []
  if (verb === 'create') return { kind: verb, table: tableOf(rest) }
  const ends = rest.matchAll(verb === 'add' ? /_to(?=_(\w+))/g : /_from(?=_(\w+))/g)
  const tables = [...ends].map(([, end = '']) => tableOf(end))
  // A column or a table can also contain the word: `add_reply_to_to_messages`, `add_state_to_how_to_guides`.
  const known = tablesIn(folder)
  const table = tables.find((one) => known.includes(one)) ?? tables.at(-1)
  return (verb === 'add' || verb === 'remove') && table ? { kind: verb, table } : { kind: 'empty', table: '' }
}

/** The columns that a migration adds or removes, and the classes of TypeORM that it uses. */
function columnLocals(attributes: readonly Attribute[], table: string, uniques: readonly string[][]) {
  const columns = attributes.filter(({ isList }) => !isList)
  const changed = columns.map((attribute) => ({
    ...attribute,
    name: attribute.file ? `${attribute.name}_id` : attribute.name,
    /** The table to which its foreign key refers. */
    referred: attribute.file ? 'stored_files' : attribute.reference?.model.plural,
    variable: camelize(`${attribute.name}_column`, true),
    // MariaDB keeps an index that a foreign key needs, so the scaffold drops an index after its key, and creates it before.
    indices: [
      ...(attribute.isIndexed ? [{ variable: 'Index', columns: [attribute.name], isUnique: false }] : []),
      ...uniques
        .filter((columns) => columns.at(-1) === attribute.name)
        .map((columns) => ({ variable: 'UniqueIndex', columns, isUnique: true })),
    ].map((index) => ({
      ...index,
      name: indexName(table, index.columns.join('_')),
      list: index.columns.map(quote).join(', '),
    })),
  }))
  const classes = [
    columns.length < attributes.length && 'Table',
    columns.length > 0 && 'TableColumn',
    columns.some(({ reference, file }) => reference ?? file) && 'TableForeignKey',
    changed.some(({ indices }) => indices.length > 0) && 'TableIndex',
    'type MigrationInterface',
    'type QueryRunner',
  ]
  return { changed, classes: classes.filter(Boolean).join(', ') }
}
