#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { readFileSync } from 'node:fs'
import { CommandError } from '../command-errors.js'
import { enterApplication, localKit } from './support/application-folder.js'
import { COMMANDS, loadCommand, type Entry } from './command-list.js'
import { explain } from './support/explain.js'

/** Runs the command in the arguments. If it fails, the process exits with status 1. */
async function main(given: readonly string[]): Promise<void> {
  try {
    const args = await complete(given)
    const program = await programFor(await entryOf(args))
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return
    const message = explain(error)
    if (message) console.error(message)
    process.exit(1)
  }
}

/** Asks for the arguments of `kit generate` if there are none, and a person can answer. */
async function complete(args: readonly string[]): Promise<readonly string[]> {
  const { stdin: input, stdout: output } = process
  if (args.length !== 1 || !['generate', 'g'].includes(args[0] ?? '') || !input.isTTY || !output.isTTY)
    return args
  const { askForArguments } = await import('./support/generate-questions.js')
  const words = await askForArguments(enterApplication(), { input, output })
  console.log(`kit generate ${words.join(' ')}`)
  return ['generate', ...words]
}

/** @throws CommandError when there is no command of the name in the arguments */
async function entryOf(args: readonly string[]): Promise<Entry | undefined> {
  // `kit help db` is `kit db --help`.
  const name = args[0] === 'help' ? args[1] : args[0]
  if (name === undefined || name.startsWith('-')) return undefined
  const entry = COMMANDS.find((one) => one.name === name || one.alias === name)
  if (entry) return entry
  const { nearest } = await import('../naming/spelling.js')
  const near = nearest(
    name,
    COMMANDS.map((one) => one.name),
  )
  throw new CommandError(
    `There is no command "${name}".${near ? ` Did you mean "${near}"?` : ''} \`kit --help\` lists the commands.`,
  )
}

/** Creates the program with the called command. The other commands are only listed. */
async function programFor(called: Entry | undefined): Promise<Command> {
  const program = new Command('kit')
    .description('Creates, extends, runs and inspects applications built with resource-kit.')
    .version(version(), '-V, --version', 'print the version of resource-kit')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', '\nExample:\n  $ kit new blog && cd blog\n  $ npx kit db migrate\n  $ npx kit dev')
    .exitOverride()
    // Unlike process.stdout, console ignores that the reader of a pipe has exited: `kit --help | head`.
    .configureOutput({
      outputError: () => undefined,
      writeOut: (text) => console.log(text.replace(/\n$/, '')),
    })
    .action(() => program.outputHelp())
  for (const entry of COMMANDS) {
    const command = entry === called ? await loadCommand(entry) : new Command(entry.name)
    command.summary(entry.summary)
    if (entry.alias && !command.aliases().includes(entry.alias)) command.alias(entry.alias)
    program.addCommand(inherit(command, program))
  }
  return program
}

/** Gives a command, which was created without its parent, the parent's settings for errors and output. */
function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent)
  for (const sub of command.commands) inherit(sub, command)
  const known = command.commands.map((sub) => sub.name())
  // Commander calls this instead of its own error, which does not list the known commands.
  if (known.length > 0) {
    command.on('command:*', ([name = '']: string[]) => {
      throw new CommandError(
        `There is no command "${command.name()} ${name}". Known commands: ${known.join(', ')}.`,
      )
    })
  }
  return command
}

function version(): string {
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
  )
  return manifest.version
}

// The reader of a pipe may have exited: `kit generate ... | head`.
if (process.stdout.listenerCount('error') === 0)
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })

// Within an application, its own copy of resource-kit runs the command.
const args = process.argv.slice(2)
const other = args[0] === 'new' ? undefined : localKit(import.meta.filename)
if (other) await import(other)
else await main(args)
