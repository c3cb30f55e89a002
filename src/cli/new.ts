import { Command, Option } from 'commander'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { CommandError } from '../errors.js'
import { applicationFiles, ENGINES, type Engine } from './application-files.js'
import { npm } from './npm.js'
import { kitDependency } from './packed-kit.js'

interface Options {
  api?: boolean
  db: Engine
  skipInstall?: boolean
  kit?: string
}

/** `kit new`: a complete application in a folder of its own. */
export function newCommand(): Command {
  return new Command('new')
    .description(
      'Makes an application that installs, migrates, starts and tests: pages with a layout and styles, or with --api ' +
        'one that answers in JSON and XML alone. It depends on resource-kit; where that was not installed from the ' +
        'registry, on a copy of it in vendor/.',
    )
    .argument('<name>', 'the name of the application, and of its folder', parseName)
    .option('--api', 'an application without pages and sessions')
    .addOption(new Option('--db <engine>', 'the database').choices(Object.keys(ENGINES)).default('sqlite'))
    .option('--skip-install', 'do not run npm install')
    .option('--kit <version>', 'depend on this version of resource-kit')
    .addHelpText('after', '\nExample:\n  $ kit new blog\n  $ kit new shop --api --db postgres')
    .action(create)
}

async function create(path: string, options: Options): Promise<void> {
  const folder = resolve(path)
  refuseOccupied(folder, path)
  const version = options.kit ?? (await kitDependency(folder))
  const files = applicationFiles({
    name: basename(folder),
    kind: options.api ? 'api' : 'web',
    engine: options.db,
    version,
  })
  for (const [name, content] of files) write(join(folder, name), content)
  console.log(`created ${path} with ${files.size} files`)
  if (!options.skipInstall) await npm(['install', '--no-audit', '--no-fund'], folder)
  console.log(nextSteps(path, options))
}

/** npm installs no package into one of the same name. */
const TAKEN = new Set([
  'resource-kit',
  'typeorm',
  'tsyringe',
  'mocha',
  'chai',
  'typescript',
  'class-validator',
  'class-transformer',
  'reflect-metadata',
  'pino-pretty',
  ...Object.values(ENGINES).map(({ driver }) => driver),
])

/** The last part of the path names the application, and so its package and its databases. */
function parseName(path: string): string {
  const name = basename(resolve(path))
  if (TAKEN.has(name)) {
    throw new CommandError(
      `"${name}" is the name of a package that the application needs. Choose another one.`,
    )
  }
  if (!/^[a-z][a-z0-9]*([_-][a-z0-9]+)*$/.test(name) || name.length > 50) {
    throw new CommandError(
      `"${name}" is no name for an application. Use lower-case letters, digits and single dashes, like "my-blog".`,
    )
  }
  return path
}

function refuseOccupied(folder: string, path: string): void {
  if (!existsSync(folder)) return
  if (!statSync(folder).isDirectory())
    throw new CommandError(`${path} is a file. Choose another name, or move it away.`)
  const [found] = readdirSync(folder).filter((name) => name !== '.git')
  if (found) {
    throw new CommandError(
      `The folder ${path} is not empty: it has ${found}. Choose another name, or empty it.`,
    )
  }
}

function write(file: string, content: string | Buffer): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

function nextSteps(path: string, { api, db, skipInstall }: Options): string {
  const steps = [
    `cd ${path}`,
    ...(skipInstall ? ['npm install'] : []),
    ...(db === 'sqlite' ? [] : ['# create the databases that ormconfig.ts names']),
    `npx kit generate resource post title description:nulls.Text`,
    'npx kit db migrate',
    'npx kit dev',
  ]
  const visit = api ? 'http://127.0.0.1:3000/up' : 'http://127.0.0.1:3000'
  return `\nNext:\n${steps.map((step) => `  ${step}`).join('\n')}\n\nThen visit ${visit}.`
}
