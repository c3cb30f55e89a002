import { Command, Option } from 'commander'

/** The arguments and options of `kit generate resource`, except for the name. The options have the names of commander. */
export interface ResourceArguments {
  /** `title`, `body:text`, ... */
  attributes?: readonly string[]
  /** `publish:post`, `drafts:get:collection`, ... */
  route?: readonly string[]
  /** The columns whose values are unique together: `project_id,user_id`, ... */
  unique?: readonly string[]
  /** The attributes to filter, sort and search by: `state,title`. */
  filter?: string | undefined
  sort?: string | undefined
  search?: string | undefined
  /** The lists of records that are a part of a record: `line item:references quantity:int`. */
  nested?: readonly string[]
  /** Whether the list is also a CSV file. */
  csv?: boolean
  /** Whether CSV files can be imported, and the attribute that finds the records to update. */
  import?: boolean | string
  /** The handlers that can be called for many records: `archive,destroy`. */
  bulk?: string | undefined
  /** The resource in which it is nested. */
  parent?: string | undefined
  /** The model whose records own those of the resource: `user`. */
  owner?: string | undefined
  /** Whether there is only one record: `/profile`. */
  singular?: boolean
  /** Whether the model has a version, so that no change overwrites another one. */
  locking?: boolean
  /** Whether each change of a record is recorded. */
  history?: boolean
  /** Whether deleted records are moved to a trash. */
  trash?: boolean
  spec?: 'placeholder' | 'full'
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

/** Adds the arguments and options of `kit generate resource` to a command, except for --dry-run and --force. */
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
    .option('--csv', 'offer the list as a CSV file: /posts.csv')
    .option('--import [key]', 'import CSV files, which update records by a unique attribute: --import=title')
    .option('--bulk <names>', 'call handlers for many records at once: update, destroy, or a --route')
    .addOption(NESTED)
    .addOption(SPEC)
    .addOption(UNIQUE)
    .addOption(LOCKING)
    .addOption(HISTORY)
    .addOption(TRASH)
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
    .addOption(NESTED)
    .addOption(UNIQUE)
    .addOption(LOCKING)
    .addOption(HISTORY)
    .addOption(TRASH)
    .addOption(SPEC)
}

/** The description of the argument with the attributes. */
export const ATTRIBUTES = 'name, name:type or name:type:unique|index|shown'

const NESTED = new Option(
  '--nested <list>',
  'a list of records in its form: "line item:references quantity:int" (repeatable)',
).argParser(append)

const UNIQUE = new Option(
  '--unique <columns>',
  'columns whose values are unique together: project_id,user_id (repeatable)',
).argParser(append)

const SPEC = new Option(
  '--spec <kind>',
  'placeholder specs, which fail until you replace them, or complete specs',
).choices(['placeholder', 'full'])

const LOCKING = new Option('--locking', 'add a version, so that a change never overwrites another one')

const HISTORY = new Option('--history', 'record each change: who, when, and the values before and after')

const TRASH = new Option('--trash', 'move deleted records to a trash, from which they can be restored')

/** Adds a value to those of an option that was given before. */
function append(word: string, others: string[] = []): string[] {
  return [...others, word]
}

/** The names in the value of an option, each once: `state,title`. */
export function namesIn(option = ''): string[] {
  return [...new Set(option.split(',').map((name) => name.trim()))].filter((name) => name !== '')
}

/** Returns the command that generates a resource or a model, for a comment: `kit generate resource post title --spec full`. */
export function resourceCommand(
  kind: 'resource' | 'model',
  word: string,
  { attributes = [], filter, sort, search, bulk, spec, ...options }: ResourceArguments,
): string {
  const [filters, sorts, searches, actions] = [filter, sort, search, bulk].map((names) =>
    namesIn(names).join(','),
  )
  const lists = { filter: filters, sort: sorts, search: searches, bulk: actions }
  const flags = { ...options, ...lists, spec: spec === 'full' && spec }
  return commandLine(kind, [word, ...attributes], withResourceArguments, flags)
}

/** Reads the comment with the command that has generated a resource or a model; undefined without one. */
export function recordedResource(text: string): { word: string; options: ResourceArguments } | undefined {
  const command = recordedCommand(text, 'resource|model', withResourceArguments)
  if (!command) return undefined
  const [word = '', ...attributes] = command.args
  return { word, options: { ...command.opts(), attributes } }
}

/** Returns a generated file as earlier versions wrote it: the comment was the command alone, without an empty line below. */
export function withShortComment(text: string): string {
  return text.replace(
    /^\/\/ kit destroy and kit generate read the next line\.\n(\/\/ kit generate .*\n)\n?/m,
    '$1',
  )
}

/** Adds the arguments and options of a generator to a command. */
type Define = (command: Command) => Command

/** Returns the command that calls a generator, with its options in the order of their definition. */
export function commandLine(
  kind: string,
  words: readonly string[],
  define: Define,
  flags: Readonly<Record<string, unknown>>,
): string {
  const given = define(new Command()).options.flatMap((option) => {
    const values = [flags[option.attributeName()]].flat().filter(Boolean)
    return values.flatMap((value) => [`--${option.name()}`, ...(value === true ? [] : [String(value)])])
  })
  return ['kit generate', kind, ...[...words, ...given].map(quoteWord)].join(' ')
}

/**
 * Parses the comment with the command that has generated a file; undefined without one.
 *
 * @param kind the name of the generator, as a regular expression
 * @throws CommanderError when the command is not valid
 */
export function recordedCommand(text: string, kind: string, define: Define): Command | undefined {
  const [, line] = new RegExp(`^// kit generate (?:${kind}) (.+)$`, 'm').exec(text) ?? []
  const words = line?.match(/'[^']*'|\S+/g)?.map((word) => word.replaceAll("'", ''))
  const command = define(new Command())
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
  return words && command.parse(words, { from: 'user' })
}

/** Quotes a word for a shell if necessary: the values of an enum can contain spaces, and a schedule contains asterisks. */
function quoteWord(word: string): string {
  return /[ *]/.test(word) ? `'${word}'` : word
}
