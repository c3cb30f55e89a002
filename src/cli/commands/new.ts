import { Command, Option } from 'commander'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { ChangeFailed, CommandError } from '../../command-errors.js'
import { generate } from '../../generator/files/files.js'
import { applicationFiles, ENGINES, type Engine } from '../support/application-files.js'
import { kitDependency, npm } from '../support/packed-kit.js'

interface Options {
  api?: boolean
  db: Engine
  skipGit?: boolean
  skipInstall?: boolean
  kit?: string
}

/** `kit new`: creates an application in a new folder. */
export function newCommand(): Command {
  return new Command('new')
    .description(
      'Creates an application that is ready to start and to test: pages with a layout and styles, or only JSON and XML ' +
        'with --api. It depends on the version of resource-kit that runs this command. If kit comes from a checkout, that ' +
        'version is copied to vendor/.',
    )
    .argument('<name>', `name of the application and its folder: ${NAME_RULE}`, parseName)
    .option('--api', 'create an API without pages and sessions')
    .addOption(new Option('--db <engine>', 'database engine').choices(Object.keys(ENGINES)).default('sqlite'))
    .option('--skip-git', 'do not make a Git repository')
    .option('--skip-install', 'do not run npm install')
    .option('--kit <version>', 'depend on this version of resource-kit', parseVersion)
    .addHelpText('after', '\nExample:\n  $ kit new blog\n  $ kit new shop --api --db postgres')
    .action(create)
}

async function create(path: string, options: Options): Promise<void> {
  const folder = resolve(path)
  rejectOccupied(folder, path)
  const count = await writeApplication(folder, options)
  const isRepository = !options.skipGit && initRepository(folder)
  console.log(`created ${path} with ${count} files${isRepository ? ', in a new Git repository' : ''}`)
  if (!options.skipInstall) {
    console.log('running npm install, which takes minutes if it has to compile the driver of the database')
    // In a terminal, npm shows its progress. The output of its scripts would be hidden until one fails.
    const foreground = process.stdout.isTTY ? ['--foreground-scripts'] : []
    await npm(['install', '--no-audit', '--no-fund', ...foreground], folder)
  }
  console.log(nextSteps(path, options))
}

/** Writes all files or none: if a file cannot be written, a folder that was created for them is deleted. */
async function writeApplication(folder: string, { api, db, kit }: Options): Promise<number> {
  const firstMade = makeFolder(folder)
  try {
    const version = kit ?? (await kitDependency(folder))
    const files = applicationFiles({
      name: basename(folder),
      kind: api ? 'api' : 'web',
      engine: db,
      version,
    })
    generate(folder, files)
    return files.length
  } catch (error) {
    if (firstMade) rmSync(firstMade, { recursive: true, force: true })
    throw error
  }
}

/** Makes a Git repository, unless the folder is in one, or there is no Git. Returns whether it was made. */
function initRepository(folder: string): boolean {
  const git = (...args: string[]): boolean =>
    spawnSync('git', args, { cwd: folder, stdio: 'ignore' }).status === 0
  return !git('rev-parse', '--is-inside-work-tree') && git('init', '--quiet')
}

/** Creates a folder, and returns the first one that did not exist before. */
function makeFolder(folder: string): string | undefined {
  try {
    return mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new ChangeFailed(folder, 'write', error)
  }
}

/** Names that npm does not permit: those of the packages that an application needs, and `node_modules`. */
const TAKEN = new Set(
  [
    'resource-kit typeorm tsyringe mocha chai typescript class-validator class-transformer reflect-metadata',
    'pino-pretty node_modules',
    ...Object.values(ENGINES).map(({ driver }) => driver),
  ].flatMap((names) => names.split(' ')),
)

const NAME_RULE =
  'a lowercase letter first, then lowercase letters, digits and single dashes or underscores, at most 50 characters'

/** Checks the last part of the path, which is the name of the application, its package and its databases. */
function parseName(path: string): string {
  const name = basename(resolve(path))
  if (TAKEN.has(name)) {
    throw new CommandError(
      `"${name}" is the name of a package that the application needs. Choose another name.`,
    )
  }
  if (!/^[a-z][a-z0-9]*([_-][a-z0-9]+)*$/.test(name) || name.length > 50) {
    throw new CommandError(
      `"${name}" isn't a valid name for an application. Use ${NAME_RULE}, like "my-blog".`,
    )
  }
  return path
}

/** Rejects a folder: linked, it would bring a second TypeORM, and not compile. */
function parseVersion(version: string): string {
  // A range of versions can begin with a tilde, too: ~0.1.0.
  const isPath = /^(?:file:|~?\/|\.)/.test(version)
  if (!isPath || version.endsWith('.tgz')) return version
  throw new CommandError(
    `--kit expects a version, like ^0.1.0, and ${version} is a folder. To use a checkout, run the kit command of the checkout ` +
      'without --kit.',
  )
}

function rejectOccupied(folder: string, path: string): void {
  if (!existsSync(folder)) return
  if (!statSync(folder).isDirectory())
    throw new CommandError(`${path} is a file. Choose another name, or move it away.`)
  const [found] = readdirSync(folder).filter((name) => name !== '.git')
  if (found) {
    throw new CommandError(
      `The folder ${path} is not empty: it contains ${found}. Choose another name, or empty it.`,
    )
  }
}

function nextSteps(path: string, { api, db, skipInstall }: Options): string {
  const steps = [
    `cd ${path}`,
    ...(skipInstall ? ['npm install'] : []),
    ...(db === 'sqlite' ? [] : ['docker compose up -d --wait', 'npx kit db create']),
    'npx kit generate resource post title description:nulls.text --search title,description --spec full',
    'npx kit db migrate',
    'npx kit dev',
  ]
  const visit = api ? 'http://127.0.0.1:3000/up' : 'http://127.0.0.1:3000'
  return `\nNext:\n${steps.map((step) => `  ${step}`).join('\n')}\n\nThen visit ${visit}.`
}
