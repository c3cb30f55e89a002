/** A mistake in the use of a command. The command exits with status 1. */
export class CommandError extends Error {
  override name = this.constructor.name
}

/** There is no command with this name. */
export class UnknownCommand extends CommandError {
  constructor(name: string, near: string | undefined) {
    super(
      `There is no command "${name}".${near ? ` Did you mean "${near}"?` : ''} \`kit --help\` lists the commands.`,
    )
  }
}

/** A command has no subcommand with this name. */
export class UnknownSubcommand extends CommandError {
  /**
   * @param command the command: generate
   * @param name the unknown subcommand
   * @param known the subcommands that exist
   */
  constructor(command: string, name: string, known: readonly string[]) {
    super(`There is no command "${command} ${name}". Known commands: ${known.join(', ')}.`)
  }
}

/** A command that needs an application was run outside of one. */
export class NoApplication extends CommandError {
  constructor(folder: string) {
    super(
      `${folder} is not in an application: no package.json here or above depends on resource-kit. ` +
        "Change to an application's folder, or create one with `kit new NAME`.",
    )
  }
}

/** The application does not compile. */
export class BuildFailed extends CommandError {
  /** @param output the compiler's output */
  constructor(output: string) {
    super(`The application does not compile:\n${output}`)
  }
}

/** A command needs a confirmation, but there is no terminal. */
export class NoTerminal extends CommandError {
  constructor(question: string) {
    super(`"${question}" needs an answer, but there is no terminal. Pass -y to answer yes.`)
  }
}

/** The input ended before all questions of a command had an answer. */
export class InputEnded extends CommandError {
  constructor() {
    super(
      'The input ended before it contained an answer to every question, so nothing was deleted. Answer y or n, or pass -y.',
    )
  }
}

/** A file of the application does not export what a command needs. */
export class MissingExport extends CommandError {
  /**
   * @param source the file, relative to the application's folder: `src/app.ts`
   * @param name the missing export
   */
  constructor(source: string, name: string) {
    super(`${source} has no export "${name}". Add it: export const ${name} = ...`)
  }
}

/** The application that `kit dev` started has exited. */
export class ApplicationExited extends CommandError {
  /** @param lastWords the end of its standard error */
  constructor(
    status: number | null,
    readonly lastWords: string,
  ) {
    super(`The application exited${status === null ? '' : ` with status ${status}`}.`)
  }
}

/** The first worker of `kit start --workers` exited before it served requests. */
export class WorkerNotStarted extends CommandError {
  /** The message is empty if the worker itself has printed the reason. */
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

/** A word isn't a valid name of a resource or migration. */
export class BadName extends CommandError {
  constructor(word: string) {
    super(
      `"${word}" isn't a valid name. Use words of letters and digits, at most 50 characters: post, blog_post, BlogPost or admin/widget.`,
    )
  }
}

/** A name is reserved, because it has another meaning in the generated files. */
export class ReservedName extends CommandError {
  constructor(kind: 'resource' | 'model', word: string, reason: string) {
    super(`A ${kind} cannot be named "${word}", because ${reason}. Choose another name.`)
  }
}

/** A nested resource would have the same path parameter as its parent. */
export class RepeatedParameter extends CommandError {
  constructor(word: string, param: string) {
    super(`"${word}" cannot be nested there: the path would contain {${param}} twice. Choose another name.`)
  }
}

/** The parent of a nested resource is not registered in src/app.ts. */
export class ParentNotRegistered extends CommandError {
  constructor(resource: string, word: string) {
    super(
      `The parent ${resource} is not registered in src/app.ts. Generate it first: kit generate resource ${word}.`,
    )
  }
}

/** A resource needs a model that does not exist. */
export class MissingModel extends CommandError {
  /**
   * @param near an existing model with a similar name
   * @param alias the reference by which a relation with another name than its model is written
   */
  constructor(model: string, word: string, near?: string, alias?: string) {
    super(
      `There is no model ${model} in src/models/${word}.ts. ` +
        (near ? `Did you mean "${near}"? Otherwise, generate` : 'Generate') +
        ` it first: kit generate resource ${word}.` +
        (alias ? ` If the model has another name, write it after the type: ${alias}.` : ''),
    )
  }
}

/** An existing model lacks a property that a resource shows. */
export class MissingProperty extends CommandError {
  constructor(model: string, file: string, property: string) {
    super(`The model ${model} has no ${property}. Add it to ${file} with a migration, or leave it out.`)
  }
}

/** An attribute is malformed. */
export class BadAttribute extends CommandError {
  constructor(word: string, problem: string) {
    super(`"${word}" isn't a valid attribute: ${problem}.`)
  }
}

/** The type of an attribute is unknown. */
export class UnknownAttributeType extends CommandError {
  constructor(type: string, word: string, known: readonly string[]) {
    super(
      `Unknown attribute type "${type}" in "${word}". Known types: ${known.join(', ')}. Use nulls.X for a nullable attribute.`,
    )
  }
}

/** The name of an attribute is reserved by JavaScript or by every record. */
export class ReservedAttribute extends CommandError {
  constructor(word: string, name: string, reason: string) {
    super(
      `"${word}" isn't a valid attribute: it cannot be named "${name}", because ${reason}. Choose another name.`,
    )
  }
}

/** Two attributes have the same name. */
export class RepeatedAttribute extends CommandError {
  constructor(word: string, name: string) {
    super(`"${word}" repeats the attribute "${name}". List each attribute once.`)
  }
}

/** A route of `--route` is malformed. */
export class BadRoute extends CommandError {
  constructor(word: string, problem: string) {
    super(`"${word}" isn't a valid route: ${problem}.`)
  }
}

/** The argument of `--unique` does not name several columns of the table. */
export class BadUnique extends CommandError {
  constructor(word: string, columns: readonly string[]) {
    super(
      `--unique ${word} must name two or more different columns, separated by commas. ` +
        `The columns are: ${columns.join(', ') || 'none'}. For a single column, use name:type:unique.`,
    )
  }
}

/** The files to be written already exist. */
export class FilesExist extends CommandError {
  constructor(paths: readonly string[]) {
    super(
      `Nothing was written, because these files already exist: ${paths.join(', ')}. Use --force to overwrite them.`,
    )
  }
}

/** A file could not be written. The files written before it have been removed. */
export class WriteFailed extends CommandError {
  constructor(path: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`${path} cannot be written: ${reason}. No files were written.`, { cause })
  }
}

/** A file could not be deleted or changed. The files deleted before it have been restored. */
export class DestroyFailed extends CommandError {
  constructor(path: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`${path} cannot be deleted or changed: ${reason}. Nothing was deleted.`, { cause })
  }
}

/** No generated file exists for this name. */
export class NothingToDestroy extends CommandError {
  constructor(word: string, kind: 'resource' | 'model' = 'resource') {
    super(`No ${kind} has the name "${word}": none of its files exist.`)
  }
}
