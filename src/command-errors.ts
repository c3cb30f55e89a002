/** A mistake in the use of a command. The command exits with status 1. */
export class CommandError extends Error {
  override name = this.constructor.name
}

/** The base of an error whose message is made from the arguments of its constructor. */
function commandError<Args extends unknown[]>(
  message: (...args: Args) => string,
): new (...args: Args) => CommandError {
  return class extends CommandError {
    constructor(...args: Args) {
      super(message(...args))
    }
  }
}

export class UnknownCommand extends commandError(
  (name: string, near: string | undefined) =>
    `There is no command "${name}".${near ? ` Did you mean "${near}"?` : ''} \`kit --help\` lists the commands.`,
) {}

export class UnknownSubcommand extends commandError(
  (command: string, name: string, known: readonly string[]) =>
    `There is no command "${command} ${name}". Known commands: ${known.join(', ')}.`,
) {}

export class NoApplication extends commandError(
  (folder: string) =>
    `${folder} is not in an application: no package.json here or above depends on resource-kit. ` +
    "Change to an application's folder, or create one with `kit new NAME`.",
) {}

export class BuildFailed extends commandError(
  (output: string) => `The application does not compile:\n${output}`,
) {}

export class NoTerminal extends commandError(
  (question: string) => `"${question}" needs an answer, but there is no terminal. Pass -y to answer yes.`,
) {}

export class InputEnded extends commandError(
  () =>
    'The input ended before it contained an answer to every question, so nothing was deleted. Answer y or n, or pass -y.',
) {}

export class MissingExport extends commandError(
  (source: string, name: string) => `${source} has no export "${name}". Add it: export const ${name} = ...`,
) {}

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
    const stopped = signal && `The first worker was stopped by ${signal} before it served requests.`
    super(stopped || (status === 0 ? silent : ''))
  }
}

export class BadName extends commandError(
  (word: string) =>
    `"${word}" isn't a valid name. Use words of letters and digits, at most 50 characters: post, blog_post, BlogPost or admin/widget.`,
) {}

/** A name is reserved, because it has another meaning in the generated files. */
export class ReservedName extends commandError(
  (kind: 'resource' | 'model', word: string, reason: string) =>
    `A ${kind} cannot be named "${word}", because ${reason}. Choose another name.`,
) {}

/** A nested resource would have the same path parameter as its parent. */
export class RepeatedParameter extends commandError(
  (word: string, param: string) =>
    `"${word}" cannot be nested there: the path would contain {${param}} twice. Choose another name.`,
) {}

export class ParentNotRegistered extends commandError(
  (resource: string, word: string) =>
    `The parent ${resource} is not registered in src/app.ts. Generate it first: kit generate resource ${word}.`,
) {}

export class MissingModel extends commandError(
  (model: string, word: string, near?: string, alias?: string) =>
    `There is no model ${model} in src/models/${word}.ts. ` +
    (near ? `Did you mean "${near}"? Otherwise, generate` : 'Generate') +
    ` it first: kit generate resource ${word}.` +
    (alias ? ` If the model has another name, write it after the type: ${alias}.` : ''),
) {}

export class MissingProperty extends commandError(
  (model: string, file: string, property: string) =>
    `The model ${model} has no ${property}. Add it to ${file} with a migration, or leave it out.`,
) {}

export class BadAttribute extends commandError(
  (word: string, problem: string) => `"${word}" isn't a valid attribute: ${problem}.`,
) {}

export class UnknownAttributeType extends commandError(
  (type: string, word: string, known: readonly string[]) =>
    `Unknown attribute type "${type}" in "${word}". Known types: ${known.join(', ')}. Use nulls.X for a nullable attribute.`,
) {}

export class ReservedAttribute extends commandError(
  (word: string, name: string, reason: string) =>
    `"${word}" isn't a valid attribute: it cannot be named "${name}", because ${reason}. Choose another name.`,
) {}

export class RepeatedAttribute extends commandError(
  (word: string, name: string) => `"${word}" repeats the attribute "${name}". List each attribute once.`,
) {}

export class BadRoute extends commandError(
  (word: string, problem: string) => `"${word}" isn't a valid route: ${problem}.`,
) {}

export class BadUnique extends commandError(
  (word: string, columns: readonly string[]) =>
    `--unique ${word} must name two or more different columns, separated by commas. ` +
    `The columns are: ${columns.join(', ') || 'none'}. For a single column, use name:type:unique.`,
) {}

export class FilesExist extends commandError(
  (paths: readonly string[]) =>
    `Nothing was written, because these files already exist: ${paths.join(', ')}. Use --force to overwrite them.`,
) {}

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

export class NothingToDestroy extends commandError(
  (word: string, kind: 'resource' | 'model' | 'job' = 'resource') =>
    `No ${kind} has the name "${word}": none of its files exist.`,
) {}
