import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { itemName } from '../naming/words.js'
import { handlersIn } from './application.js'
import type { Names } from './arguments/names.js'
import { indexName } from './tables.js'

/** The arguments of the command that has generated a table. */
interface TableArguments {
  /** `title`, `body:text`, ... */
  attributes: string[]
  /** `project_id,user_id`, ... */
  uniques: string[]
}

/** Reads the words of the command line from the migration that creates a model's table; undefined without a migration. */
export function migrationArguments(folder: string, names: Names): TableArguments | undefined {
  const { plural } = names
  const migrations = join(folder, 'migrations')
  const file =
    existsSync(migrations) &&
    readdirSync(migrations).find((name) => new RegExp(`^\\d+_create_${plural}\\.ts$`).test(name))
  if (!file) return undefined

  const [, text = '', ...joins] = readFileSync(join(migrations, file), 'utf8').split('new Table(')
  const shown = shownIn(folder, names)
  return {
    attributes: [...columnsIn(text, plural, shown), ...joins.map((table) => listIn(table, plural))],
    // The index of the owner's only record has a single column.
    uniques: [...text.matchAll(/columnNames: \[([^\]]*,[^\]]*)\],\s*isUnique: true/g)].map(
      ([, columns = '']) => (columns.match(/\w+/g) ?? []).join(','),
    ),
  }
}

/** A foreign key: the table that it refers to, and whether it refers to a parent. */
interface Key {
  table: string
  isCascading: boolean
}

function keysIn(text: string): Map<string, Key> {
  const found = text.matchAll(/columnNames: \['(\w+)'\],\s*referencedTableName: '(\w+)',[^}]*\}/g)
  return new Map(
    [...found].map(([key, column = '', table = '']) => [
      column,
      { table, isCascading: key.includes('CASCADE') },
    ]),
  )
}

/** The attributes of a table. The key of its parent is left out. */
function columnsIn(text: string, plural: string, isShown: (name: string) => boolean): string[] {
  const keys = keysIn(text)
  const columns = text.matchAll(/column\(runner, '(\w+)', '(\w+)'(?:, \{([^}]*)\})?/g)
  return [...columns].flatMap(([, name = '', kind = '', options = '']) => {
    const key = keys.get(name)
    if (key?.isCascading) return []
    const property = name.replace(/_id$/, '')
    const model = key && itemName(key.table)
    const type = `${options.includes('isNullable: true') ? 'nulls.' : ''}${key ? 'references' : kind}`
    const values = [...options.matchAll(/'([^']*)'/g)].map(([, value]) => value).join(',')
    const digits = /precision: (\d+), scale: (\d+)/.exec(options)?.slice(1).join(',')
    const isIndexed = !key && text.includes(`name: '${indexName(plural, name)}'`)
    const detail = key ? model !== property && model : values || digits
    const modifiers = [
      options.includes('isUnique: true') && 'unique',
      isIndexed && 'index',
      isShown(name) && 'shown',
    ]
    return [[key ? property : name, type, detail, ...modifiers].filter(Boolean).join(':')]
  })
}

/** The many-to-many relation to which a join table belongs: `labels:many`. */
function listIn(text: string, plural: string): string {
  const property = /name: '(\w+)'/.exec(text)?.[1]?.slice(`${plural}_`.length) ?? ''
  const [, related] = [...keysIn(text).values()]
  const model = itemName(related?.table ?? '')
  return [property, 'many', model !== itemName(property) && model].filter(Boolean).join(':')
}

/** Returns whether an attribute is not kept secret: the handlers list it, or the model has it without `@Exclude`. */
function shownIn(folder: string, names: Names): (name: string) => boolean {
  const handlers = handlersIn(folder, names)
  if (handlers !== '') return (name) => new RegExp(`\\bfields = \\[[^\\]]*'${name}'`).test(handlers)
  const file = join(folder, `src/models/${names.singular}.ts`)
  const model = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return (name) => !new RegExp(`@Exclude\\(\\)\\s+${name}\\b`).test(model)
}
