/** A command that writes to an output. */
type MakeCommand = (out: { write(text: string): void }) => {
  parseAsync(args: string[], from: { from: 'user' }): Promise<unknown>
}

/** Runs a command in this process, and returns its output. */
export async function runCommand(command: MakeCommand, args: string[]): Promise<string> {
  let said = ''
  await command({ write: (text) => void (said += text) }).parseAsync(args, { from: 'user' })
  return said
}
