import type { Readable, Writable } from 'node:stream'
import { CommandError } from '../../command-errors.js'
import { knownTypes, readAttribute } from '../../generator/arguments/attribute-argument.js'
import { collectionName } from '../../naming/words.js'
import { modelFiles } from '../../generator/application.js'

/** Where questions are asked: the terminal, or the streams of a spec. */
export interface Terminal {
  input: Readable
  output: Writable
}

/** The types of attributes whose names do not say what they are. */
const HINTS: Record<string, string> = {
  string: 'one line, at most 255 characters',
  text: 'several lines',
  int: 'a whole number',
  bigint: 'a whole number with up to 19 digits',
  decimal: 'an exact number, such as a price',
  references: 'one record of another model',
  many: 'several records of another model',
}

/** The choices, and a hint for each. */
const COMMANDS = {
  resource: 'model, handlers, pages or API, migration, specs',
  model: 'a table without pages',
  job: 'work in the background',
  migration: 'a change of the tables',
  auth: 'accounts: sign-in, sign-up, passwords',
}

/**
 * Asks for the arguments of `kit generate`: what to generate, its name, its attributes one by one, and
 * options.
 *
 * @returns the words of the command: `['resource', 'post', 'title', '--spec', 'full']`
 * @throws CommandError when the visitor stops answering
 */
export async function askForArguments(folder: string, terminal: Terminal): Promise<string[]> {
  const questions = new Questions(await import('@clack/prompts'), terminal)
  const kind = await questions.choose('What do you want to generate?', COMMANDS)
  if (kind === 'auth') return ['auth']
  const name = await questions.name(
    kind === 'migration' ? 'Its name, like add_state_to_posts' : 'Its name, in the singular',
  )
  const attributes = await questions.attributes()
  const options = kind === 'resource' ? await questions.options(modelFiles(folder)) : []
  return [kind, name, ...attributes, ...options]
}

class Questions {
  constructor(
    private readonly prompts: typeof import('@clack/prompts'),
    private readonly terminal: Terminal,
  ) {}

  async choose(message: string, choices: Readonly<Record<string, string>>): Promise<string> {
    const options = Object.entries(choices).map(([value, hint]) => ({ value, label: value, hint }))
    return this.answer(await this.prompts.select({ message, options, ...this.terminal }))
  }

  async name(message: string): Promise<string> {
    const validate = (text = ''): string | undefined =>
      /^[a-z][\w/-]*$/i.test(text) ? undefined : 'Begin with a letter, like post or order_line.'
    return this.answer(await this.prompts.text({ message, validate, ...this.terminal }))
  }

  /** Attributes one by one, until an empty name: `body:nulls.text`, `state:enum:draft,public`. */
  async attributes(): Promise<string[]> {
    const attributes: string[] = []
    for (;;) {
      const message = `Attribute ${attributes.length + 1}, or Enter to finish`
      const name = this.answer(await this.prompts.text({ message, defaultValue: '', ...this.terminal }))
      if (!name) return attributes
      const word = await this.attribute(name)
      const problem = problemOf(word)
      if (problem) this.prompts.log.error(problem, { output: this.terminal.output })
      else attributes.push(word)
    }
  }

  /** Asks for the options of `kit generate resource`. */
  async options(models: readonly string[]): Promise<string[]> {
    const options = {
      '--spec=full': 'specs that pass, instead of placeholders',
      '--locking': 'two people who edit the same record lose nothing',
      '--api': 'JSON and XML only',
      ...(models.includes('user') && { '--owner=user': 'each user has records of their own' }),
    }
    const chosen = this.answer(
      await this.prompts.multiselect({
        message: 'Options (the space bar selects)',
        options: Object.entries(options).map(([value, hint]) => ({ value, label: value, hint })),
        initialValues: ['--spec=full'],
        required: false,
        ...this.terminal,
      }),
    )
    if (models.length === 0) return chosen
    const none = { '': 'no' }
    const parents = Object.fromEntries(models.map((model) => [model, `below /${collectionName(model)}`]))
    const parent = await this.choose('Is it a part of another resource?', { ...none, ...parents })
    return parent === '' ? chosen : [...chosen, `--parent=${parent}`]
  }

  private async attribute(name: string): Promise<string> {
    const types = Object.fromEntries(knownTypes.map((type) => [type, HINTS[type] ?? '']))
    const type = await this.choose(`The type of ${name}`, types)
    const detail = type === 'enum' ? `:${await this.name('Its values: draft,public')}` : ''
    if (['many', 'files', 'images'].includes(type)) return `${name}:${type}`
    const rules = await this.choose(`May ${name} be empty?`, { no: 'required', yes: 'optional' })
    return `${name}:${rules === 'yes' ? 'nulls.' : ''}${type}${detail}`
  }

  /** @throws CommandError when the question was left with Ctrl+C */
  private answer<T>(answer: T): Exclude<T, symbol> {
    if (typeof answer === 'symbol') throw new CommandError('Nothing was generated.')
    // Type assertion: TypeScript does not narrow a type parameter.
    return answer as Exclude<T, symbol>
  }
}

/** Why an attribute is rejected, in one sentence; undefined if it is not. */
function problemOf(word: string): string | undefined {
  try {
    readAttribute(word)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
