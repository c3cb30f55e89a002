/** A command was given what it cannot work with, or in a place where it cannot. The command ends with status 1. */
export class CommandError extends Error {
  override name = 'CommandError'
}

/** There is no command of this name. */
export class UnknownCommand extends CommandError {
  override name = 'UnknownCommand'
  constructor(name: string, near: string | undefined) {
    super(
      `There is no command "${name}".${near ? ` Did you mean "${near}"?` : ''} \`kit --help\` lists the commands.`,
    )
  }
}

/** A command has no part of this name. */
export class UnknownSubcommand extends CommandError {
  override name = 'UnknownSubcommand'
  /**
   * @param command the command: generate
   * @param name what was asked of it
   * @param known what it has
   */
  constructor(command: string, name: string, known: readonly string[]) {
    super(`There is no command "${command} ${name}". Known commands: ${known.join(', ')}.`)
  }
}

/** A command that needs an application was called elsewhere. */
export class NoApplication extends CommandError {
  override name = 'NoApplication'
  constructor(folder: string) {
    super(
      `${folder} is not in an application: no package.json here or above depends on resource-kit. ` +
        "Change to an application's folder, or create one with `kit new NAME`.",
    )
  }
}

/** The application does not compile. */
export class BuildFailed extends CommandError {
  override name = 'BuildFailed'

  /** @param output what the compiler says */
  constructor(output: string) {
    super(`The application does not compile:\n${output}`)
  }
}

/** A command must ask, but nobody is there to answer. */
export class NoTerminal extends CommandError {
  override name = 'NoTerminal'
  constructor(question: string) {
    super(`"${question}" needs an answer, but there is no terminal. Pass -y to answer yes.`)
  }
}

/** The answers to a command's questions ended too early. */
export class InputEnded extends CommandError {
  override name = 'InputEnded'
  constructor() {
    super(
      'The input ended before every question was answered, so nothing was deleted. Answer y or n, or say yes with -y.',
    )
  }
}

/** A file of the application does not export what a command needs. */
export class MissingExport extends CommandError {
  override name = 'MissingExport'

  /**
   * @param source the file from the folder of the application: `src/app.ts`
   * @param name what it should export
   */
  constructor(source: string, name: string) {
    super(`${source} has no export "${name}". Add it: export const ${name} = ...`)
  }
}

/** The application that `kit dev` has started has ended. */
export class ApplicationEnded extends CommandError {
  override name = 'ApplicationEnded'

  /** @param lastWords what it has written to standard error */
  constructor(
    status: number | null,
    readonly lastWords: string,
  ) {
    super(`The application exited${status === null ? '' : ` with status ${status}`}.`)
  }
}

/** The first worker of `kit start --workers` has ended before it served. */
export class WorkerNotStarted extends CommandError {
  override name = 'WorkerNotStarted'

  /** The message is empty where the worker has said itself what is wrong. */
  constructor(status: number | null, signal: string | null) {
    const silent =
      'The application exited without an error before it served requests. Make src/main.ts call app.listen().'
    super(
      signal
        ? `The first worker was stopped by ${signal} before it served requests.`
        : status === 0
          ? silent
          : '',
    )
  }
}

/** A word that is no name of a resource or a migration. */
export class BadName extends CommandError {
  override name = 'BadName'
  constructor(word: string) {
    super(
      `"${word}" isn't a valid name. Use words of letters and digits, at most 50 characters: post, blog_post, BlogPost or admin/widget.`,
    )
  }
}

/** A name that means something else in the files which would be written. */
export class ReservedName extends CommandError {
  override name = 'ReservedName'
  constructor(kind: 'resource' | 'model', word: string) {
    super(`A ${kind} cannot be named "${word}": the word is reserved. Choose another name.`)
  }
}

/** A name whose parameter is that of a resource which it is nested in. */
export class RepeatedParameter extends CommandError {
  override name = 'RepeatedParameter'
  constructor(word: string, param: string) {
    super(`"${word}" cannot be nested there: the path would contain {${param}} twice. Choose another name.`)
  }
}

/** A resource is to be nested in one that src/app.ts does not register. */
export class ParentNotRegistered extends CommandError {
  override name = 'ParentNotRegistered'
  constructor(resource: string, word: string) {
    super(
      `The parent ${resource} is not registered in src/app.ts. Generate it first: kit generate resource ${word}.`,
    )
  }
}

/** A model that a resource needs is not there. */
export class MissingModel extends CommandError {
  override name = 'MissingModel'
  constructor(model: string, word: string) {
    super(
      `There is no model ${model} in src/models/${word}.ts. Generate it first: kit generate resource ${word}.`,
    )
  }
}

/** A model that is there already has not what a resource shows of it. */
export class MissingProperty extends CommandError {
  override name = 'MissingProperty'
  constructor(model: string, file: string, property: string) {
    super(`The model ${model} has no ${property}. Add it to ${file} with a migration, or leave it out.`)
  }
}

/** An attribute that cannot be read. */
export class BadAttribute extends CommandError {
  override name = 'BadAttribute'
  constructor(word: string, problem: string) {
    super(`"${word}" isn't a valid attribute: ${problem}.`)
  }
}

/** An attribute whose type is not known. */
export class UnknownAttributeType extends CommandError {
  override name = 'UnknownAttributeType'
  constructor(type: string, word: string, known: readonly string[]) {
    super(
      `Unknown attribute type "${type}" in "${word}". Known types: ${known.join(', ')}. Use nulls.X for a nullable attribute.`,
    )
  }
}

/** An attribute with a name that every record, or the language, has for something else. */
export class ReservedAttribute extends CommandError {
  override name = 'ReservedAttribute'
  constructor(word: string, name: string) {
    super(`"${word}" isn't a valid attribute: the name "${name}" is reserved. Choose another name.`)
  }
}

/** Two attributes of one name. */
export class RepeatedAttribute extends CommandError {
  override name = 'RepeatedAttribute'
  constructor(word: string, name: string) {
    super(`"${word}" repeats the attribute "${name}". List each attribute once.`)
  }
}

/** Files that would be written are there already. */
export class FilesExist extends CommandError {
  override name = 'FilesExist'
  constructor(paths: readonly string[]) {
    super(
      `Nothing was written, because these files already exist: ${paths.join(', ')}. Use --force to overwrite them.`,
    )
  }
}

/** A file could not be written; what had been written before it is gone again. */
export class NotWritten extends CommandError {
  override name = 'NotWritten'
  constructor(path: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`${path} cannot be written: ${reason}. No files were written.`, { cause })
  }
}

/** There is nothing of this name that could be destroyed. */
export class NothingToDestroy extends CommandError {
  override name = 'NothingToDestroy'
  constructor(word: string) {
    super(`There is no resource "${word}" here: none of its files exists.`)
  }
}
