import { spawnSync } from 'node:child_process'
import { symlinkSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { compilerOf } from '../../../src/cli/support/compilation.js'
import { engine } from '../engine.js'
import { temporaryFolder } from '../temporary-folder.js'
import { unformatted } from '../formatted.js'
import { root } from '../kit.js'
import { codeBlocks } from '../documentation/code-blocks.js'

const blog = join(root, 'examples/blog/')
const members = join(root, 'examples/members/')

/** Matches the paths of the files in examples/blog that `kit generate` has written. */
export const generated = /posts?\b|comments?\b/

/**
 * Matches the titles of generated specs that pass on each engine or on none. JSON writes the same values as a form and as XML,
 * and round-trip.spec.ts and xml.spec.ts send both on each engine.
 */
export const INDEPENDENT_OF_ENGINE =
  'from a form|the form (for|again|to edit)|from XML|with the button of|as HTML$|422 for JSON without|rejects a query'

/** The output of mocha's reporter "json". */
interface Report {
  stats: { passes: number; failures: number }
  failures: { fullTitle: string; err: { message: string } }[]
}

/** A folder with an application as `kit new` creates it, which is deleted afterwards. */
export class Application {
  readonly folder = temporaryFolder()
  /** The environment of its programs. */
  readonly environment: NodeJS.ProcessEnv = {}

  /** examples/blog without its resources. */
  static web(): Application {
    const application = new Application()
    for (const [path, content] of exampleBlog()) {
      if (generated.test(path)) continue
      application.write(path, path === 'src/app.ts' ? withoutResources(content) : content)
    }
    application.write('locales/.gitkeep', '')
    return application
  }

  /** An API application. */
  static api(): Application {
    const application = new Application()
    const common =
      /^(package.json|tsconfig.json|ormconfig.ts|\.mocharc.json|src\/database.ts|spec\/support\/.*)$/
    for (const [path, content] of exampleBlog()) {
      if (common.test(path)) application.write(path, content)
    }
    application.write(
      'src/app.ts',
      [
        "import { App, parameterLogger, transaction } from 'resource-kit'",
        "import { database } from './database.js'",
        '',
        'export const app = new App({ api: true })',
        '',
        'app.use(parameterLogger())',
        'app.use(transaction(database))',
        '',
      ].join('\n'),
    )
    return application
  }

  path(path: string): string {
    return join(this.folder, path)
  }

  read(path: string): string {
    return readFileSync(this.path(path), 'utf8')
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(this.path(path)), { recursive: true })
    writeFileSync(this.path(path), content)
  }

  delete(path: string): void {
    rmSync(this.path(path))
  }

  /** Every file and folder with its content. */
  tree(): Record<string, string> {
    return Object.fromEntries(entries(this.folder))
  }

  /**
   * The generated files that are not formatted. `npm run format:check` checks the files that are the same in an example.
   *
   * @param paths of the files to check; by default all
   */
  unformatted(paths = Object.keys(this.tree())): Promise<string[]> {
    const written = files(this.folder).filter(
      ([path, content]) => paths.includes(path) && !exampleTexts().has(content),
    )
    return unformatted(Object.fromEntries(written))
  }

  /**
   * Compiles it, in one thread: the other cores run other specs. SQLite's run checks the types, which the engines share. As
   * after `kit build`, no command compiles it again until a source changes.
   */
  compile(): { status: number | null; output: string } {
    const options = engine === 'sqlite' ? ['--noUnusedLocals'] : ['--noCheck']
    const result = this.run('tsc', '--singleThreaded', '--sourceMap', 'false', ...options)
    if (result.status === 0) this.write('dist/.built', '')
    return result
  }

  /** Runs its specs with the options of its .mocharc.json, but without source maps: reading them takes as long as many specs. */
  runSpecs(...args: string[]): { status: number | null; output: string } {
    const { spec, require, timeout } = JSON.parse(this.read('.mocharc.json')) as Record<string, string[]>
    const options = ['--no-config', '--exit', '--require', String(require), '--timeout', String(timeout)]
    const paths = args.some((arg) => arg.endsWith('.spec.js')) ? [] : [String(spec)]
    return this.run('mocha', ...options, ...args, ...paths)
  }

  /** Runs its specs, and returns the number of those that passed, and the titles and errors of those that failed. */
  reportSpecs(...args: string[]): { passes: number; failures: string[] } {
    const path = 'report.json'
    const { output } = this.runSpecs('--reporter', 'json', '--reporter-option', `output=${path}`, ...args)
    if (!existsSync(this.path(path))) throw new Error(output)
    const { stats, failures } = JSON.parse(this.read(path)) as Report
    this.delete(path)
    const { passes } = stats
    return { passes, failures: failures.map(({ fullTitle, err }) => `${fullTitle}: ${err.message}`) }
  }

  /** Runs a program of this checkout in the folder, and returns its output, whether it succeeds or not. */
  run(program: string, ...args: string[]): { status: number | null; output: string } {
    this.linkPackages()
    const { DATABASE_URL: _, GO_ENV: __, ...env } = process.env
    const [file, ...first] = commandOf(program)
    const { status, stdout, stderr } = spawnSync(file, [...first, ...args], {
      cwd: this.folder,
      encoding: 'utf8',
      env: { ...env, LOG_LEVEL: 'silent', ...this.environment },
    })
    return { status, output: stdout + stderr }
  }

  /** Installs the packages of this checkout. */
  linkPackages(): void {
    if (!existsSync(this.path('node_modules')))
      symlinkSync(join(root, 'node_modules'), this.path('node_modules'))
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function commandOf(program: string): [file: string, ...args: string[]] {
  if (program === 'tsc') return compilerOf(root)
  return [program === 'node' ? process.execPath : join(root, 'node_modules/.bin', program)]
}

/** The files of examples/blog with their contents. */
export function blogFiles(): Record<string, string> {
  return Object.fromEntries(exampleBlog())
}

/** The files of examples/blog without its service, which are read once. */
function exampleBlog(): [path: string, content: string][] {
  return (blogContents ??= files(blog)
    .filter(([path]) => !path.includes('notifier'))
    .map(([path, content]) => [path, withoutService(content)]))
}

/** Removes the service that scripts/regenerate-example.js adds to the generator's output: a constructor, and lines that name it. */
function withoutService(content: string): string {
  return content
    .replace(/^ *constructor\(.* notifier.*\n.*\n.*\n\n/m, '')
    .replaceAll(/^.*notifier.*\n/gim, '')
}

let blogContents: [path: string, content: string][] | undefined

/** The contents of the files of all examples. */
function exampleTexts(): Set<string> {
  return (texts ??= new Set([blog, members].flatMap(files).map(([, content]) => content)))
}

let texts: Set<string> | undefined

function withoutResources(app: string): string {
  return app
    .split('\n')
    .filter((line) => !/(Posts|Comments)Resource/.test(line))
    .join('\n')
}

function files(folder: string): [path: string, content: string][] {
  return entries(folder).filter(([path]) => !path.endsWith('/'))
}

function entries(folder: string): [path: string, content: string][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const name = path.slice(folder.length).replace(/^\//, '')
      return entry.isDirectory() ? [`${name}/`, ''] : [name, readFileSync(path, 'utf8')]
    })
    .filter(([path = '']) => !/^(dist|node_modules|db|\.kit)\//.test(path))
    .toSorted() as [string, string][]
}

/** A generated migration that adds a required branch, with what docs/teams.md adds to it, so that present rows get one. */
export function withFilledBranch(migration: string): string {
  const filled = codeBlocks().find(({ code }) => code.includes('UPDATE suppliers'))?.code ?? ''
  return migration
    .replace(
      "column(runner, 'branch_id', 'uuid')",
      "column(runner, 'branch_id', 'uuid', { isNullable: true })",
    )
    .replace('  }\n\n  async down', () => `${filled}  }\n\n  async down`)
}
