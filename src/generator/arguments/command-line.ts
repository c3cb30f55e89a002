import { Command, Option } from 'commander'

/** The arguments and options of `kit generate resource`, except for the name. */
export interface ResourceArguments {
  /** `title`, `body:text`, ... */
  attributes?: readonly string[]
  /** `publish:post`, `drafts:get:collection`, ... */
  routes?: readonly string[]
  /** The columns whose values are unique together: `project_id,user_id`, ... */
  uniques?: readonly string[]
  /** The attributes to filter, sort and search by: `state,title`. */
  filter?: string | undefined
  sort?: string | undefined
  search?: string | undefined
  /** The resource in which it is nested. */
  parent?: string | undefined
  /** The model whose records own those of the resource: `user`. */
  owner?: string | undefined
  /** Whether there is only one record: `/profile`. */
  singular?: boolean
  /** Whether the model has a version, so that no change overwrites another one. */
  locking?: boolean
  /** Whether the specs are complete instead of placeholders. */
  fullSpec?: boolean
  skipMigration?: boolean
  /** Whether to leave out the model, its spec and its migration. */
  skipModel?: boolean
  skipTemplates?: boolean
  /** Whether to write the five handlers of an API in a web application, too. */
  api?: boolean
  /** An existing model. */
  useModel?: string | undefined
  /** The time of the migration. */
  now?: Date
}

/** The options of `kit generate resource` and `kit generate model`, as commander reads them. */
export interface ResourceFlags extends Omit<
  ResourceArguments,
  'attributes' | 'routes' | 'uniques' | 'fullSpec'
> {
  route?: string[]
  unique?: string[]
  spec?: 'placeholder' | 'full'
}

/** Adds the arguments and options of `kit generate resource` to a command, except for those that a file does not record. */
export function withResourceArguments(command: Command): Command {
  return command
    .argument('<name>', 'singular name: post, blog_post, admin/widget')
    .argument('[attributes...]', ATTRIBUTES)
    .option('--parent <name>', 'nest the resource in another one, like comments in posts')
    .option('--owner <model>', 'the model of users who own the records, like user: adds a policy')
    .option('--singular', 'generate a resource with one record and no list: /profile')
    .option(
      '--route <route>',
      'add a route for an item, or for the collection: publish:post, drafts:get:collection (repeatable)',
      append,
    )
    .option('--filter <names>', 'let clients filter the list by attributes: state,title')
    .option('--sort <names>', 'let clients sort the list by attributes: title,created_at')
    .option('--search <names>', 'let clients search in attributes of text: title')
    .addOption(specOption())
    .addOption(uniqueOption())
    .addOption(lockingOption())
    .option('--skip-migration', 'do not generate a migration')
    .option('--skip-model', 'do not generate a model, its spec and its migration')
    .option('--skip-templates', 'do not generate templates')
    .option('--api', 'generate the five handlers for JSON and XML, and no pages')
    .option('--use-model <name>', 'use an existing model')
}

/** Adds the arguments and options of `kit generate model` to a command. */
export function withModelArguments(command: Command): Command {
  return command
    .argument('<name>', 'singular name: label, blog_label')
    .argument('[attributes...]', ATTRIBUTES)
    .addOption(uniqueOption())
    .addOption(lockingOption())
    .addOption(specOption())
}

/** The description of the argument with the attributes. */
export const ATTRIBUTES = 'name, name:type or name:type:unique|index|shown'

function uniqueOption(): Option {
  const text = 'columns whose values are unique together: project_id,user_id (repeatable)'
  return new Option('--unique <columns>', text).argParser(append)
}

function specOption(): Option {
  const text = 'placeholder specs, which fail until you replace them, or complete specs'
  return new Option('--spec <kind>', text).choices(['placeholder', 'full'])
}

function lockingOption(): Option {
  return new Option('--locking', 'add a version, so that a change never overwrites another one')
}

function append(word: string, others: string[] = []): string[] {
  return [...others, word]
}

/** The names of an option, each once. */
export function namesIn(option = ''): string[] {
  return [...new Set(option.split(',').map((name) => name.trim()))].filter((name) => name !== '')
}

/** The options for the generator. */
export function resourceOptions(
  attributes: readonly string[],
  { route: routes = [], unique: uniques = [], spec, ...flags }: ResourceFlags,
): ResourceArguments {
  return { ...flags, attributes, routes, uniques, fullSpec: spec === 'full' }
}

/** Returns the command that generates a resource or a model, for a comment: `kit generate resource post title --spec full`. */
export function commandLine(kind: 'resource' | 'model', word: string, options: ResourceArguments): string {
  const { attributes = [], routes: route, uniques: unique, fullSpec, filter, sort, search } = options
  const [filters, sorts, searches] = [filter, sort, search].map((names) => namesIn(names).join(','))
  const lists = { filter: filters, sort: sorts, search: searches }
  const flags: Record<string, unknown> = { ...options, ...lists, route, unique, spec: fullSpec && 'full' }
  const given = withResourceArguments(new Command()).options.flatMap((option) =>
    [flags[option.attributeName()]]
      .flat()
      .filter(Boolean)
      .flatMap((value) => (value === true ? [`--${option.name()}`] : [`--${option.name()}`, String(value)])),
  )
  return ['kit generate', kind, ...[word, ...attributes, ...given].map(quoted)].join(' ')
}

/**
 * Reads the comment with the command that has generated a file; undefined without one.
 *
 * @throws CommanderError when the command is not valid
 */
export function recordedCommand(text: string): { word: string; options: ResourceArguments } | undefined {
  const [, line] = /^\/\/ kit generate (?:resource|model) (.+)$/m.exec(text) ?? []
  if (line === undefined) return undefined
  const words = (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ''))
  const command = withResourceArguments(new Command()).exitOverride()
  command.configureOutput({ outputError: () => undefined }).parse(words, { from: 'user' })
  const [word = '', ...attributes] = command.args
  return { word, options: resourceOptions(attributes, command.opts()) }
}

/** A word as a shell reads it. Only the values of an enum can contain spaces. */
function quoted(word: string): string {
  return word.includes(' ') ? `'${word}'` : word
}
