import type { ScaffoldFile } from './files/templates.js'

/** The parts that a command writes. */
export interface FileChoices {
  model: boolean
  migration: boolean
  policy: boolean
  /** Whether the policy asks for roles in a team. */
  rolePolicy: boolean
  /** Whether the specs are complete, or placeholders. */
  fullSpec: boolean
  /** Whether the model has a rule that its complete spec can show. */
  rules: boolean
  texts: boolean
  pages: boolean
  /** Whether the resource has a list. */
  list: boolean
  history: boolean
  trash: boolean
}

/** A file, and whether a command writes it. */
type ResourceFile = ScaffoldFile & { when: (has: FileChoices) => boolean }

const MODEL_SPEC = 'spec/models/%singular%.spec.ts'
const SPEC = 'spec/actions/%plural%.spec.ts'
const PAGES = 'templates/%plural%'

/** The files of a model. */
export const MODEL_FILES: readonly ResourceFile[] = [
  { scaffold: 'resource/model.ts.ejs', target: 'src/models/%singular%.ts', when: (has) => has.model },
  {
    scaffold: 'resource/migration.ts.ejs',
    target: 'migrations/%migration%.ts',
    when: (has) => has.migration,
  },
  {
    scaffold: 'resource/spec/model.ts.ejs',
    target: MODEL_SPEC,
    when: (has) => has.model && has.fullSpec && has.rules,
  },
  {
    scaffold: 'resource/spec/pending-model.ts.ejs',
    target: MODEL_SPEC,
    when: (has) => has.model && !has.fullSpec,
  },
]

/**
 * The files of a resource: `kit generate` writes them, `--dry-run` lists them, `--force` overwrites them, and `kit destroy`
 * deletes them.
 */
export const RESOURCE_FILES: readonly ResourceFile[] = [
  ...MODEL_FILES,
  { scaffold: 'resource/policy.ts.ejs', target: 'src/policies/%singular%.ts', when: (has) => has.policy },
  {
    scaffold: 'resource/role-policy.ts.ejs',
    target: 'src/policies/%singular%.ts',
    when: (has) => has.rolePolicy,
  },
  {
    scaffold: 'resource/spec/policy.ts.ejs',
    target: 'spec/policies/%singular%.spec.ts',
    when: (has) => has.rolePolicy,
  },
  { scaffold: 'resource/class.ts.ejs', target: 'src/actions/%plural%.ts', when: () => true },
  { scaffold: 'resource/spec/full.ts.ejs', target: SPEC, when: (has) => has.fullSpec },
  { scaffold: 'resource/spec/pending.ts.ejs', target: SPEC, when: (has) => !has.fullSpec },
  { scaffold: 'resource/locale.yaml.ejs', target: 'locales/%plural%.en-us.yaml', when: (has) => has.texts },
  {
    scaffold: 'resource/templates/index.pug.ejs',
    target: `${PAGES}/index.pug`,
    when: (has) => has.pages && has.list,
  },
  {
    scaffold: 'resource/templates/trash.pug.ejs',
    target: `${PAGES}/trash.pug`,
    when: (has) => has.pages && has.trash,
  },
  {
    scaffold: 'resource/templates/history.pug.ejs',
    target: `${PAGES}/history.pug`,
    when: (has) => has.pages && has.history,
  },
  { scaffold: 'resource/templates/show.pug.ejs', target: `${PAGES}/show.pug`, when: (has) => has.pages },
  { scaffold: 'resource/templates/new.pug.ejs', target: `${PAGES}/new.pug`, when: (has) => has.pages },
  { scaffold: 'resource/templates/edit.pug.ejs', target: `${PAGES}/edit.pug`, when: (has) => has.pages },
  { scaffold: 'resource/templates/_form.pug.ejs', target: `${PAGES}/_form.pug`, when: (has) => has.pages },
]

/** The files of a list of lines, beside those of its record. */
export const LINE_FILES: readonly ResourceFile[] = [
  ...MODEL_FILES,
  { scaffold: 'resource/templates/_rows.pug.ejs', target: `${PAGES}/_%list%.pug`, when: (has) => has.pages },
]
