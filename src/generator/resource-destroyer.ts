import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join, posix } from 'node:path'
import { handlersIn, isSingular, parentOf } from './application.js'
import { translatedRemark, translationsOf } from './locale-generator.js'
import { isCreate, type FileAction } from './files.js'
import { itemName } from '../words.js'
import { namesOf, type Names } from './names.js'
import { planOf, stepsOf } from './resource-generator.js'
import { routesIn } from './routes.js'
import { indexName } from './tables.js'

/** The steps that `kit destroy resource` undoes, and its warnings about files. */
export interface Destruction {
  actions: FileAction[]
  /** Returns a warning about a file: it has been edited, its migration has been run, or another file imports it. */
  remark(path: string): Promise<string | undefined>
}

/** Whether a migration has been run, by its name: `CreatePosts1795132800000`. Rejects if this cannot be determined. */
export type HasRun = (migration: string) => Promise<boolean>

/** Returns the steps of `kit generate resource` with its original options, which are read from the generated files. */
export function resourceDestruction(
  folder: string,
  word: string,
  hasRun: HasRun = () => Promise.resolve(false),
): Destruction {
  const singular = isSingular(folder, word)
  const names = namesOf(word, undefined, singular)
  const attributes = attributesOfMigration(folder, names)
  const parent = parentOf(folder, names)
  const options = {
    attributes: attributes ?? [],
    routes: routesIn(handlersIn(folder, names), singular),
    parent,
    singular,
    useModel: sharedModel(folder, names),
  }
  const plan = planOf(folder, word, options)
  const variants = [options, { ...options, fullSpec: true }, { ...options, useModel: undefined }]
  const expected = variants.map((variant) => stepsOf(folder, plan, variant))

  const own = expected[0] ?? []
  const translations = own.flatMap(({ path }) =>
    path.startsWith('locales/') ? translationsOf(folder, path) : [],
  )
  const actions = [...own, ...translations]

  async function remark(path: string): Promise<string | undefined> {
    const text = readFileSync(join(folder, path), 'utf8')
    const isDeleted = actions.some((action) => isCreate(action) && action.path === path)
    const users = isDeleted ? importersOf(folder, path, actions) : []
    const remarks = [
      users.length > 0 && `${users.join(', ')} ${users.length > 1 ? 'need' : 'needs'} ${path}.`,
      translations.some((file) => file.path === path) && translatedRemark(folder, path),
      (await runRemark(path, text, hasRun)) ??
        (isEdited(path, text) && `${path} has been edited since it was generated.`),
    ]
    return remarks.filter(Boolean).join('\n') || undefined
  }

  function isEdited(path: string, text: string): boolean {
    const contents = expected.flat().filter((action) => isCreate(action) && action.path === path)
    const isSame = contents.some((action) => isCreate(action) && action.content === text)
    return attributes !== undefined && contents.length > 0 && !isSame
  }
  return { actions, remark }
}

/** A warning about a migration that has been run, or whose state cannot be determined. */
async function runRemark(path: string, text: string, hasRun: HasRun): Promise<string | undefined> {
  const migration = /export class (\w+\d{13}) implements MigrationInterface/.exec(text)?.[1]
  if (migration === undefined) return undefined
  try {
    const isRun = await hasRun(migration)
    return isRun
      ? `${path} has been run, so its table stays. Run \`kit db rollback\` first, or \`kit db reset\` afterwards, which deletes all records.`
      : undefined
  } catch (error) {
    const [reason] = String(error instanceof Error ? error.message : error).split('\n')
    return `It is not known whether ${path} has been run: ${reason}`
  }
}

/** The source files that import a file, except those that are deleted with it, and src/app.ts, which has its own question. */
function importersOf(folder: string, path: string, actions: readonly FileAction[]): string[] {
  const own = new Set(actions.map((action) => action.path))
  return ['src', 'spec']
    .filter((name) => existsSync(join(folder, name)))
    .flatMap((name) =>
      readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' }).map((it) => `${name}/${it}`),
    )
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts') && !own.has(name))
    .filter((name) =>
      importsOf(join(folder, name)).some((it) => posix.join(posix.dirname(name), it) === path),
    )
    .toSorted()
}

/** The relative paths of the files that a file imports: `../models/post.ts`. */
function importsOf(file: string): string[] {
  const imports = readFileSync(file, 'utf8').matchAll(/ from ['"](\.[^'"]+)\.js['"]/g)
  return [...imports].map(([, path]) => `${path}.ts`)
}

/** The attributes of a resource as words of the command line, read from its migration; undefined without a migration. */
function attributesOfMigration(folder: string, names: Names): string[] | undefined {
  const { plural } = names
  const handlers = handlersIn(folder, names)
  const migrations = join(folder, 'migrations')
  const file =
    existsSync(migrations) &&
    readdirSync(migrations).find((name) => new RegExp(`^\\d+_create_${plural}\\.ts$`).test(name))
  if (!file) return undefined

  const text = readFileSync(join(migrations, file), 'utf8')
  const keys = new Map(
    [...text.matchAll(/columnNames: \['(\w+)'\],\s*referencedTableName: '(\w+)',[^}]*\}/g)].map(
      ([key, column, table = '']) => [column, { table, isParent: key.includes('CASCADE') }],
    ),
  )
  const columns = text.matchAll(/column\(runner, '(\w+)', '(\w+)'(?:, \{([^}]*)\})?/g)
  return [...columns].flatMap(([, name = '', kind = '', options = '']) => {
    const key = keys.get(name)
    if (key?.isParent) return []
    const property = name.replace(/_id$/, '')
    const model = key && itemName(key.table)
    const type = `${options.includes('isNullable: true') ? 'nulls.' : ''}${key ? 'references' : kind}`
    const values = [...options.matchAll(/'([^']*)'/g)].map(([, value]) => value).join(',')
    const digits = /precision: (\d+), scale: (\d+)/.exec(options)?.slice(1).join(',')
    const isIndexed = !key && text.includes(`name: '${indexName(plural, name)}'`)
    const detail = key ? model !== property && model : values || digits
    const isListed = new RegExp(`\\bfields = \\[[^\\]]*'${name}'`).test(handlers)
    const modifiers = [
      options.includes('isUnique: true') && 'unique',
      isIndexed && 'index',
      isListed && 'shown',
    ]
    return [[key ? property : name, type, detail, ...modifiers].filter(Boolean).join(':')]
  })
}

/** The name of the model if another resource uses it, too (`widget` and `admin/widget`), so that it must stay. */
function sharedModel(folder: string, { file, singular, plural }: Names): string | undefined {
  const actions = join(folder, 'src/actions')
  if (!existsSync(actions)) return undefined
  const others = readdirSync(actions, { recursive: true, encoding: 'utf8' }).filter(
    (name) =>
      [`${plural}.ts`, `${singular}.ts`].includes(basename(name)) &&
      name.replaceAll('\\', '/') !== `${file}.ts`,
  )
  return others.length > 0 ? singular : undefined
}
