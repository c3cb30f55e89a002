import type { Command } from 'commander'

/** A command in the list of commands. */
export interface Entry {
  /** The name of the command and of its file, which exports `<name>Command(out)`. */
  name: string
  alias?: string
  summary: string
}

/** The commands, in the order in which they are listed. */
export const COMMANDS: readonly Entry[] = [
  { name: 'new', summary: 'create an application' },
  { name: 'dev', summary: 'serve the application and restart it when its code changes' },
  { name: 'generate', alias: 'g', summary: 'generate a resource, model, job, migration, locale or accounts' },
  { name: 'destroy', alias: 'd', summary: 'delete generated files' },
  { name: 'routes', summary: 'print the routing table' },
  { name: 'openapi', summary: 'print the OpenAPI document, write it or check it' },
  { name: 'locales', summary: 'list the missing texts of each language' },
  { name: 'db', summary: 'migrate, roll back, create, drop or seed the database' },
  { name: 'build', summary: 'compile the application if it is out of date' },
  { name: 'start', summary: 'build the application if necessary, and serve it' },
  { name: 'work', summary: 'run the background jobs without a server' },
  { name: 'jobs', summary: 'list, retry and discard background jobs' },
  { name: 'files', summary: 'count, sweep and check stored files' },
  { name: 'console', alias: 'c', summary: 'evaluate JavaScript with the application loaded' },
  { name: 'query', summary: 'read the database with one SQL statement' },
  { name: 'run', summary: 'run a file of the application with its database open' },
  { name: 'info', summary: 'print versions, environment, database and number of routes' },
]

/** Loads a single command, so that `kit` starts fast. */
export async function loadCommand(entry: Entry): Promise<Command> {
  const module: Record<string, (out: NodeJS.WritableStream) => Command> = await import(
    `./commands/${entry.name}.js`
  )
  const make = module[`${entry.name}Command`]
  if (!make) throw new Error(`${entry.name}.ts does not export ${entry.name}Command(out)`)
  return make(process.stdout)
}
