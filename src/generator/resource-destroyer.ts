import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join, posix } from 'node:path'
import { isCreate, type FileAction } from './files.js'
import { namesOf, type Names } from './names.js'
import { stepsOf } from './resource-generator.js'

/** What `kit destroy resource` undoes, and what it can say about a file before it goes. */
export interface Destruction {
  actions: FileAction[]
  /** What to know about a file: that it has been edited, or that its migration has been run. */
  remark(path: string): Promise<string | undefined>
}

/** Whether a migration has been run, by its name: `CreatePosts1795132800000`. */
export type HasRun = (migration: string) => Promise<boolean>

/** The steps of `kit generate resource`, as they were done: what it was told is read from what it wrote. */
export function resourceDestruction(
  folder: string,
  word: string,
  hasRun: HasRun = () => Promise.resolve(false),
): Destruction {
  const names = namesOf(word)
  const attributes = attributesOfMigration(folder, names)
  const parent = parentOf(folder, names)
  const options = { attributes: attributes ?? [], parent, useModel: sharedModel(folder, names) }
  const expected = [false, true].map((fullSpec) => stepsOf(folder, word, { ...options, fullSpec }))

  async function remark(path: string): Promise<string | undefined> {
    const text = readFileSync(join(folder, path), 'utf8')
    const migration = /export class (\w+\d{13}) implements MigrationInterface/.exec(text)?.[1]
    if (migration && (await hasRun(migration))) {
      return `${path} has been run: the table stays. To undo it, run "kit db rollback" before.`
    }
    const contents = expected.flat().filter((action) => isCreate(action) && action.path === path)
    const isEdited = !contents.some((action) => isCreate(action) && action.content === text)
    return attributes && contents.length > 0 && isEdited
      ? `${path} has been edited since it was generated.`
      : undefined
  }
  return { actions: expected[0] ?? [], remark }
}

/** The attributes of a resource in the words of the command line, read from its migration; undefined without one. */
function attributesOfMigration(folder: string, { plural }: Names): string[] | undefined {
  const migrations = join(folder, 'migrations')
  const file =
    existsSync(migrations) &&
    readdirSync(migrations).find((name) => new RegExp(`^\\d+_create_${plural}\\.ts$`).test(name))
  if (!file) return undefined

  const text = readFileSync(join(migrations, file), 'utf8')
  const keys = new Map(
    [...text.matchAll(/columnNames: \['(\w+)'\],\s*referencedTableName: '\w+',[^}]*\}/g)].map((match) => [
      match[1],
      match[0].includes('CASCADE'),
    ]),
  )
  const columns = text.matchAll(/column\(runner, '(\w+)', '(\w+)'(?:, \{([^}]*)\})?/g)
  return [...columns].flatMap(([, name = '', kind = '', options = '']) => {
    if (keys.get(name) === true) return []
    const isReference = keys.has(name)
    const type = `${options.includes('isNullable: true') ? 'nulls.' : ''}${isReference ? 'references' : kind}`
    const values = [...options.matchAll(/'([^']*)'/g)].map(([, value]) => value).join(',')
    const isIndexed = !isReference && text.includes(`name: '${plural}_${name}'`)
    const modifiers = [values, options.includes('isUnique: true') && 'unique', isIndexed && 'index']
    return [[isReference ? name.replace(/_id$/, '') : name, type, ...modifiers].filter(Boolean).join(':')]
  })
}

/** The resource that a resource is nested in, as the command line names it. */
function parentOf(folder: string, { file }: Names): string | undefined {
  const path = join(folder, `src/actions/${file}.ts`)
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const parent = /^@Parent\((\w+)\)/m.exec(text)?.[1]
  const from = parent && new RegExp(`import \\{ ${parent} \\} from '(.+)\\.js'`).exec(text)?.[1]
  return from ? posix.join(posix.dirname(file), from) : undefined
}

/** The model, where another resource uses it too (`widget` and `admin/widget`): it stays. */
function sharedModel(folder: string, { file, singular, plural }: Names): string | undefined {
  const actions = join(folder, 'src/actions')
  if (!existsSync(actions)) return undefined
  const others = readdirSync(actions, { recursive: true, encoding: 'utf8' }).filter(
    (name) => basename(name) === `${plural}.ts` && name.replaceAll('\\', '/') !== `${file}.ts`,
  )
  return others.length > 0 ? singular : undefined
}
