import { readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import type { CreateFile } from '../../generator/files/files.js'
import { fill, filesIn, frameworkScaffolds } from '../../generator/files/templates.js'

/** The needs of a new application with a database engine. */
interface EngineNeeds {
  /** The name of the driver's package, and its versions. */
  driver: string
  version: string
  /** Packages whose install script must run. */
  allowScripts?: Record<string, boolean>
  /** Returns the URL of an environment's database. */
  url(name: string, environment: string): string
  /** The paragraph about the database in the README. */
  note: string
}

/** The supported database engines. */
export const ENGINES = {
  sqlite: {
    driver: 'better-sqlite3',
    version: '^12.11.1',
    allowScripts: { 'better-sqlite3': true },
    url: (_, environment) => `sqlite:db/${environment}.sqlite`,
    note: 'The database is SQLite: each environment has a file in `db/`, which is created when it is first used.',
  },
  postgres: {
    driver: 'pg',
    version: '~8.23.1',
    url: (name, environment) => `postgres://postgres:postgres@127.0.0.1:5432/${name}_${environment}`,
    note: serverNote('PostgreSQL'),
  },
  mysql: {
    driver: 'mysql2',
    version: '~3.24.5',
    url: (name, environment) => `mysql://root@127.0.0.1:3306/${name}_${environment}`,
    note: serverNote('MariaDB or MySQL'),
  },
} satisfies Record<string, EngineNeeds>

/** A value of `kit new --db`. */
export type Engine = keyof typeof ENGINES

/** The choices for a new application. */
interface ApplicationChoices {
  /** `my-blog` */
  name: string
  kind: 'web' | 'api'
  engine: Engine
  /** The version of resource-kit, or the file from which it is installed. */
  version: string
}

/** Returns the files of a new application. */
export function applicationFiles(application: ApplicationChoices): CreateFile[] {
  const words = wordsOf(application)
  return ['common', application.kind, application.engine].flatMap((scaffold) => {
    const folder = join(frameworkScaffolds, 'application', scaffold)
    return filesIn(folder)
      .toSorted()
      .map((name) => {
        const text = fill(readFileSync(join(folder, name), 'utf8'), words)
        const content = name === 'package.json' ? withDriver(text, ENGINES[application.engine]) : text
        // The scaffold's file has no dot, because npm omits files named .gitignore from packages.
        return { path: name === 'gitignore' ? '.gitignore' : name.replaceAll(sep, '/'), content }
      })
  })
}

/** The values of the %words% in the scaffolds. */
function wordsOf({ name, engine, version }: ApplicationChoices): Record<string, string> {
  const parts = name.split(/[-_]/)
  const identifier = parts.join('_')
  const { url, note } = ENGINES[engine]
  return {
    name,
    identifier,
    title: parts.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join(' '),
    resource_kit: version,
    database_note: note,
    ci_url: url(identifier, 'ci'),
    development_url: url(identifier, 'development'),
    test_url: url(identifier, 'test'),
    production_url: url(identifier, 'production'),
  }
}

function serverNote(server: string): string {
  return (
    `The database is on a ${server} server; set its url in \`ormconfig.ts\`. Create the database before the first start\n` +
    'with `npx kit db create`. The specs create their own database.'
  )
}

/** Adds the driver to the dependencies, in alphabetical order as npm does. */
function withDriver(text: string, { driver, version, allowScripts }: EngineNeeds): string {
  const manifest: { dependencies: Record<string, string> } = JSON.parse(text)
  const all = Object.entries({ ...manifest.dependencies, [driver]: version })
  const dependencies = Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return `${JSON.stringify({ ...manifest, dependencies, allowScripts }, null, 2)}\n`
}
