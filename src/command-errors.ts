/** A mistake in the use of a command. The command exits with status 1. */
export class CommandError extends Error {
  override name = this.constructor.name
}

/** A rule for the arguments of a command: whether they break the rule, and the problem for the message. */
export type Rule = readonly [isBroken: unknown, problem: string]

/** Returns the problem of the first broken rule; undefined if no rule is broken. */
export function problemIn(rules: readonly Rule[]): string | undefined {
  return rules.find(([isBroken]) => isBroken)?.[1]
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

export class NoApplication extends commandError(
  (folder: string) =>
    `${folder} is not in an application: no package.json here or above depends on resource-kit. ` +
    "Change to an application's folder, or create one with `kit new NAME`.",
) {}

export class BuildFailed extends commandError(
  (output: string) => `The application does not compile:\n${output}`,
) {}

export class ApplicationExited extends CommandError {
  /**
   * @param status the exit status; null if a signal ended the application
   * @param output the end of what the application has written to standard error
   */
  constructor(
    status: number | null,
    readonly output: string,
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

export class ParentNotRegistered extends commandError(
  (resource: string, word: string) =>
    `The parent ${resource} is not registered in src/app.ts. Generate it first: kit generate resource ${word}.`,
) {}

export class BadAttribute extends commandError(
  (word: string, problem: string) => `"${word}" isn't a valid attribute: ${problem}.`,
) {}

export class BadRoute extends commandError(
  (word: string, problem: string) => `"${word}" isn't a valid route: ${problem}.`,
) {}

export class FilesExist extends commandError(
  (paths: readonly string[]) =>
    `Nothing was written, because these files already exist: ${paths.join(', ')}. Use --force to overwrite them.`,
) {}

/** A file could not be written, deleted or changed. Earlier changes are undone, except `lost`. */
export class ChangeFailed extends CommandError {
  constructor(path: string, attempt: 'write' | 'destroy', cause: unknown, lost: readonly string[] = []) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const [verb, result] =
      attempt === 'write'
        ? ['written', 'No files were written']
        : ['deleted or changed', 'Nothing was deleted']
    const rest = lost.length > 0 ? `These files could not be restored: ${lost.join(', ')}` : result
    super(`${path} cannot be ${verb}: ${reason}. ${rest}.`, { cause })
  }
}
