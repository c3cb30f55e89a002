import { camelize } from 'inflection'
import { CommandError } from '../errors.js'
import { parseAttributes, type Attribute } from './attributes.js'
import type { FileAction } from './files.js'
import { listOf } from './lines.js'
import { migrationNames } from './migration-names.js'
import { snakeCase, tableOf } from './names.js'
import { readApplication } from './resource-generator.js'
import { renderScaffolds } from './templates.js'

/**
 * The step that writes a migration. Its name says what it does: `create_posts`, `add_state_to_posts`,
 * `remove_state_from_posts`; of any other name it is empty.
 *
 * @throws CommandError
 */
export function migrationActions(
  folder: string,
  word: string,
  attributeWords: readonly string[] = [],
  now?: Date,
): FileAction[] {
  readApplication(folder)
  const name = snakeCase(word)
  if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name)) {
    throw new CommandError(
      `"${word}" is no name of a migration. Write words: create_posts, add_state_to_posts.`,
    )
  }
  const attributes = parseAttributes(attributeWords)
  const { kind, table } = meaningOf(name)
  if (kind === 'empty' && attributes.length > 0) {
    throw new CommandError(
      `"${word}" says nothing of its attributes. Name it create_posts, add_state_to_posts or remove_state_from_posts.`,
    )
  }
  if ((kind === 'add' || kind === 'remove') && attributes.length === 0) {
    throw new CommandError(`"${word}" needs an attribute: kit generate migration ${word} state:string.`)
  }
  const { file, className } = migrationNames(folder, name, now)
  const locals = {
    migrationClass: className,
    table,
    attributes,
    ...createLocals(attributes, table),
    ...columnSteps(attributes, table),
  }
  return renderScaffolds(folder, [`migration/${kind}`], { migration: file }, locals)
}

type MigrationKind = 'create' | 'add' | 'remove' | 'empty'

function meaningOf(name: string): { kind: MigrationKind; table: string } {
  const [, created] = /^create_(\w+)$/.exec(name) ?? []
  if (created) return { kind: 'create', table: tableOf(created) }
  const [, verb, table] = /^(add|remove)_\w+?_(?:to|from)_(\w+)$/.exec(name) ?? []
  // The pattern has only these two verbs.
  return verb && table
    ? { kind: verb as 'add' | 'remove', table: tableOf(table) }
    : { kind: 'empty', table: '' }
}

function createLocals(attributes: readonly Attribute[], table: string) {
  const columns = [
    'primaryKey(runner)',
    ...attributes.map(({ migration }) => migration),
    '...timestamps(runner)',
  ]
  const indices = attributes
    .filter(({ isIndexed }) => isIndexed)
    .map(({ name }) => `{ name: '${table}_${name}', columnNames: ['${name}'] }`)
  return {
    columns: listOf(8, 'columns', columns),
    indices: indices.length > 0 ? listOf(8, 'indices', indices, indices.length > 1) : '',
    references: attributes.filter(({ reference }) => reference),
  }
}

/** What adds columns to a table, and what removes them, in the opposite order. */
function columnSteps(attributes: readonly Attribute[], table: string) {
  const steps = attributes.flatMap((attribute) => stepsOf(attribute, table))
  const hasReferences = attributes.some(({ reference }) => reference)
  const hasIndices = attributes.some(({ isIndexed }) => isIndexed)
  const classes = ['TableColumn', hasReferences && 'TableForeignKey', hasIndices && 'TableIndex']
  return {
    classes: [...classes.filter(Boolean), 'type MigrationInterface', 'type QueryRunner'].join(', '),
    adding: steps.map(([add]) => add),
    removing: steps.toReversed().map(([, remove]) => remove),
  }
}

function stepsOf({ name, migration, reference, isIndexed }: Attribute, table: string) {
  const variable = camelize(`${name}_column`, true)
  const steps: [add: string, remove: string][] = [
    [
      `const ${variable} = ${migration}\n    await runner.addColumn('${table}', new TableColumn(${variable}))`,
      `await runner.dropColumn('${table}', '${name}')`,
    ],
  ]
  if (reference) {
    const key = `${table}_${name}_key`
    const options = [
      `name: '${key}'`,
      `columnNames: ['${name}']`,
      `referencedTableName: '${reference.plural}'`,
      "referencedColumnNames: ['id']",
    ]
    const members = options.map((option) => `        ${option},`).join('\n')
    steps.push([
      `await runner.createForeignKey(\n      '${table}',\n      new TableForeignKey({\n${members}\n      }),\n    )`,
      `await runner.dropForeignKey('${table}', '${key}')`,
    ])
  }
  if (isIndexed) {
    const index = `${table}_${name}`
    steps.push([
      `await runner.createIndex('${table}', new TableIndex({ name: '${index}', columnNames: ['${name}'] }))`,
      `await runner.dropIndex('${table}', '${index}')`,
    ])
  }
  return steps
}
