import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command, Option } from 'commander'
import { knownTypes } from '../../generator/attributes.js'
import { generate, isCreate, type FileAction } from '../../generator/files.js'
import { migrationActions } from '../../generator/migration-generator.js'
import { resourceActions } from '../../generator/resource-generator.js'
import { enterApplication } from '../support/application-folder.js'
import { sayTo, type Output } from '../support/output.js'

interface ResourceFlags {
  parent?: string
  spec?: 'placeholder' | 'full'
  skipMigration?: true
  skipModel?: true
  skipTemplates?: true
  useModel?: string
  dryRun?: true
  force?: true
}

type WriteFlags = Pick<ResourceFlags, 'dryRun' | 'force'>

/**
 * `kit generate resource | migration | secret`.
 *
 * @param folder the application's folder
 */
export function generateCommand(out: Output, folder: () => string = enterApplication): Command {
  return new Command('generate')
    .alias('g')
    .description('Writes the files of a resource, or a migration; or prints a secret.')
    .addHelpText('after', '\nExample:\n  $ kit generate resource post title description:nulls.Text')
    .addCommand(resourceCommand(out, folder))
    .addCommand(migrationCommand(out, folder))
    .addCommand(secretCommand(out))
}

function resourceCommand(out: Output, folder: () => string): Command {
  return new Command('resource')
    .alias('r')
    .summary('write a resource')
    .description(
      'Writes a resource: handlers, model, migration, templates, texts, specs and its route in src/app.ts. Nothing that is ' +
        'there already is overwritten, and when a file cannot be written, none is.',
    )
    .argument('<name>', 'what one of them is called: post, blog_post, admin/widget')
    .argument('[attributes...]', 'name, name:type or name:type:unique|index')
    .option('--parent <name>', 'nest it in another resource: comments of a post')
    .addOption(
      new Option('--spec <kind>', 'specs that wait to be written, or real ones').choices([
        'placeholder',
        'full',
      ]),
    )
    .option('--skip-migration', 'write no migration')
    .option('--skip-model', 'write no model, nor its spec and migration')
    .option('--skip-templates', 'write no templates')
    .option('--use-model <name>', 'take a model that is there already')
    .option('--dry-run', 'say what would be written, and write nothing')
    .option('--force', 'write files anew that are there already')
    .addHelpText('after', RESOURCE_HELP)
    .action((name: string, attributes: string[], flags: ResourceFlags) => {
      const { spec, dryRun, force, ...options } = flags
      const actions = resourceActions(folder(), name, { ...options, attributes, fullSpec: spec === 'full' })
      write(out, folder(), actions, { dryRun, force })
    })
}

function migrationCommand(out: Output, folder: () => string): Command {
  return new Command('migration')
    .summary('write a migration')
    .description(
      'Writes a migration, whose name says what it does: create_posts, add_state_to_posts, remove_state_from_posts. Of any ' +
        'other name it is empty.',
    )
    .argument('<name>', 'what it does')
    .argument('[attributes...]', 'name, name:type or name:type:unique|index')
    .option('--dry-run', 'say what would be written, and write nothing')
    .option('--force', 'write a migration of this name anew')
    .addHelpText('after', '\nExample:\n  $ kit generate migration add_state_to_posts state:enum:draft,public')
    .action((name: string, attributes: string[], flags: WriteFlags) => {
      write(out, folder(), migrationActions(folder(), name, attributes), flags)
    })
}

function secretCommand(out: Output): Command {
  return new Command('secret')
    .summary('print a secret')
    .description('Prints a secret for SESSION_SECRET: 64 random bytes.')
    .addHelpText('after', '\nExample:\n  $ SESSION_SECRET=$(kit generate secret) kit start')
    .action(() => sayTo(out)(randomBytes(64).toString('hex')))
}

function write(
  out: Output,
  folder: string,
  actions: readonly FileAction[],
  { dryRun = false, force = false }: { dryRun?: boolean | undefined; force?: boolean | undefined },
): void {
  const say = sayTo(out)
  const rewritten = actions.filter((action) => isRewrittenMigration(folder, action))
  generate(folder, actions, { dryRun, force, say })
  for (const { path } of rewritten) {
    say(
      `${path} may have been run as it was before. To run it as it is now: \`kit db reset\`, which deletes all records, ` +
        'and `GO_ENV=test kit db reset` for the specs.',
    )
  }
  if (dryRun) say('Nothing was written: --dry-run.')
}

/** Whether a migration is there already, and another one than is written now. Those that have been run are not run again. */
function isRewrittenMigration(folder: string, action: FileAction): boolean {
  if (!isCreate(action) || !action.path.startsWith('migrations/')) return false
  const file = join(folder, action.path)
  return existsSync(file) && readFileSync(file, 'utf8') !== action.content
}

const RESOURCE_HELP = `
Types: ${knownTypes.join(', ')}.
Without a type an attribute is a string. nulls.X may be empty: nulls.String, nulls.Text, nulls.Int, ...

Example:
  $ kit generate resource post title description:nulls.Text
  $ kit generate resource comment body:text --parent post
  $ kit g r article title:string:unique state:enum:draft,public author:references --spec full`
