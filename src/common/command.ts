let current: string | undefined

/** Notes that the process runs code of the application for a command: `kit db seed`. */
export function noteCommand(name: string): void {
  current = name
}

/** The command for which the process runs code of the application; undefined in a server, and in specs. */
export function currentCommand(): string | undefined {
  return current
}
