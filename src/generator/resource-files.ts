import type { ScaffoldFile } from './files/templates.js'

/** What decides which files a command writes. */
export interface FileChoices {
  kind: 'web' | 'api'
  isSingular: boolean
  hasOwner: boolean
  hasFullSpec: boolean
  /** Whether the command writes the model. Otherwise, it writes neither the spec of the model nor a migration. */
  hasModel: boolean
  hasMigration: boolean
  hasTemplates: boolean
}

/** A file, and whether a command writes it. */
type ResourceFile = ScaffoldFile & { when: (choices: FileChoices) => boolean }

/** The files of a model. */
export const MODEL_FILES: readonly ResourceFile[] = [
  { scaffold: 'resource/model.ts.ejs', target: 'src/models/%singular%.ts', when: hasModel },
  { scaffold: 'resource/migration.ts.ejs', target: 'migrations/%migration%.ts', when: hasMigration },
  { scaffold: 'resource/spec/model.ts.ejs', target: 'spec/models/%singular%.spec.ts', when: hasModelSpec },
  {
    scaffold: 'resource/spec/pending-model.ts.ejs',
    target: 'spec/models/%singular%.spec.ts',
    when: isPendingModel,
  },
]

/**
 * The files of a resource: `kit generate` writes them, `--dry-run` lists them, `--force` overwrites them, and `kit destroy`
 * deletes them.
 */
export const RESOURCE_FILES: readonly ResourceFile[] = [
  ...MODEL_FILES,
  { scaffold: 'resource/policy.ts.ejs', target: 'src/policies/%singular%.ts', when: hasOwner },
  { scaffold: 'resource/class.ts.ejs', target: 'src/actions/%plural%.ts', when: () => true },
  { scaffold: 'resource/spec/pending.ts.ejs', target: 'spec/actions/%plural%.spec.ts', when: isPending },
  ...(['web', 'api', 'singular-web', 'singular-api'] as const).map((name) => ({
    scaffold: `resource/spec/${name}.ts.ejs`,
    target: 'spec/actions/%plural%.spec.ts',
    when: (choices: FileChoices) => isClass(name)(choices) && choices.hasFullSpec,
  })),
  { scaffold: 'resource/locale.yaml.ejs', target: 'locales/%plural%.en-us.yaml', when: isWeb },
  { scaffold: 'resource/templates/index.pug.ejs', target: 'templates/%plural%/index.pug', when: hasIndex },
  { scaffold: 'resource/templates/show.pug.ejs', target: 'templates/%plural%/show.pug', when: hasPages },
  { scaffold: 'resource/templates/new.pug.ejs', target: 'templates/%plural%/new.pug', when: hasPages },
  { scaffold: 'resource/templates/edit.pug.ejs', target: 'templates/%plural%/edit.pug', when: hasPages },
  { scaffold: 'resource/templates/_form.pug.ejs', target: 'templates/%plural%/_form.pug', when: hasPages },
]

function hasModel(choices: FileChoices): boolean {
  return choices.hasModel
}

function hasMigration(choices: FileChoices): boolean {
  return choices.hasModel && choices.hasMigration
}

function hasModelSpec(choices: FileChoices): boolean {
  return choices.hasModel && choices.hasFullSpec
}

function isPendingModel(choices: FileChoices): boolean {
  return choices.hasModel && !choices.hasFullSpec
}

function hasOwner(choices: FileChoices): boolean {
  return choices.hasOwner
}

function isClass(name: 'web' | 'api' | 'singular-web' | 'singular-api') {
  return ({ kind, isSingular }: FileChoices) => name === (isSingular ? `singular-${kind}` : kind)
}

function isPending({ hasFullSpec }: FileChoices): boolean {
  return !hasFullSpec
}

function isWeb({ kind }: FileChoices): boolean {
  return kind === 'web'
}

function hasPages(choices: FileChoices): boolean {
  return choices.kind === 'web' && choices.hasTemplates
}

function hasIndex(choices: FileChoices): boolean {
  return hasPages(choices) && !choices.isSingular
}
