import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { handlersIn, isSingular, ownerOf, parentOf } from './application.js'
import { destructionOf, type Destruction, type HasRun } from './destruction.js'
import { listOptionsIn } from './arguments/lists.js'
import { namesOf, type Names } from './arguments/names.js'
import { planOf, stepsOf } from './resource-generator.js'
import { routesIn } from './arguments/routes.js'
import { migrationArguments } from './migration-arguments.js'

/** Returns the steps of `kit generate resource` with its original options, which are read from the generated files. */
export function resourceDestruction(folder: string, word: string, hasRun?: HasRun): Destruction {
  const singular = isSingular(folder, word)
  const names = namesOf(word, undefined, singular)
  const written = migrationArguments(folder, names)
  const parent = parentOf(folder, names)
  const options = {
    attributes: written?.attributes ?? [],
    uniques: written?.uniques ?? [],
    routes: routesIn(handlersIn(folder, names), singular),
    ...listOptionsIn(handlersIn(folder, names)),
    parent,
    owner: ownerOf(folder, names)?.singular,
    singular,
    api: isApiResource(folder, names),
    useModel: sharedModel(folder, names),
  }
  const plan = planOf(folder, word, options)
  const variants = [options, { ...options, fullSpec: true }]
  const expected = variants.map((variant) => stepsOf(folder, plan, variant))

  const isKnown = written !== undefined
  return destructionOf(folder, expected, { isKnown, hasRun })
}

/** Whether a resource was generated without pages. */
function isApiResource(folder: string, names: Names): boolean {
  const handlers = handlersIn(folder, names)
  const hasPages = handlers.includes('ctx.render(') || existsSync(join(folder, 'templates', names.file))
  return handlers !== '' && !hasPages
}

/** The name of the model if another resource has it, too (`widget` and `admin/widget`), so that it must stay. */
function sharedModel(folder: string, { file, singular, model }: Names): string | undefined {
  const actions = join(folder, 'src/actions')
  if (!existsSync(actions)) return undefined
  const isOfModel = new RegExp(`^@Resource\\([^)]*\\bmodel: ${model}\\b`, 'm')
  const others = readdirSync(actions, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts') && name !== `${file}.ts`)
  return others.some((name) => isOfModel.test(readFileSync(join(actions, name), 'utf8')))
    ? singular
    : undefined
}
