import type { Command } from 'commander'

/** A command of `kit`, as the list of commands shows it. */
export interface Entry {
  /** Also the name of its file, which exports `<name>Command(out)`. */
  name: string
  alias?: string
  summary: string
}

/** The commands, in the order in which they are listed. */
export const COMMANDS: readonly Entry[] = [
  { name: 'new', summary: 'make a new application' },
  { name: 'generate', alias: 'g', summary: 'write a resource, a migration or a secret' },
  { name: 'destroy', alias: 'd', summary: 'remove what generate has written' },
  { name: 'routes', summary: 'print the routing table' },
  { name: 'db', summary: 'migrate, roll back, create, drop or seed the database' },
  { name: 'dev', summary: 'serve the application, and restart it when its code changes' },
  { name: 'build', summary: 'compile the application, where it is not up to date' },
  { name: 'start', summary: 'build the application where necessary, and serve it' },
  { name: 'console', alias: 'c', summary: 'evaluate JavaScript with the application loaded' },
  { name: 'info', summary: 'print what is known of the application' },
]

/** Loads one command. The others stay where they are, so that `kit` starts fast. */
export async function loadCommand(entry: Entry): Promise<Command> {
  const module: Record<string, (out: NodeJS.WritableStream) => Command> = await import(
    `./commands/${entry.name}.js`
  )
  const make = module[`${entry.name}Command`]
  if (!make) throw new Error(`${entry.name}.ts does not export ${entry.name}Command(out)`)
  return make(process.stdout)
}
