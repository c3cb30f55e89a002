import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { camelize } from 'inflection'

/** The names of a migration. */
export interface MigrationNames {
  /** `1795132800000_create_posts` */
  file: string
  /** `CreatePosts1795132800000`: TypeORM reads the time from the class name. */
  className: string
}

/**
 * Returns the names of an existing migration, or new ones that are later than those of all other migrations.
 *
 * @param before the number of migrations that are written with it, and run before it
 */
export function migrationNames(folder: string, name: string, now = new Date(), before = 0): MigrationNames {
  const files = migrationFiles(folder)
  const existing = files.find((file) => isNamed(file, name))
  const timestamp = existing
    ? Number.parseInt(existing, 10)
    : Math.max(now.getTime(), latest(files) + 1) + before
  return { file: `${timestamp}_${name}`, className: `${camelize(name)}${timestamp}` }
}

/** The text of the migration with a name; empty if there is none. */
export function migrationIn(folder: string, name: string): string {
  const file = migrationFiles(folder).find((one) => isNamed(one, name))
  return file === undefined ? '' : readFileSync(join(folder, 'migrations', `${file}.ts`), 'utf8')
}

function isNamed(file: string, name: string): boolean {
  return file.replace(/^\d+_/, '') === name
}

function latest(files: readonly string[]): number {
  return Math.max(0, ...files.map((file) => Number.parseInt(file, 10)))
}

/** The file names of an application's migrations, without `.ts`. */
function migrationFiles(folder: string): string[] {
  const migrations = join(folder, 'migrations')
  if (!existsSync(migrations)) return []
  return readdirSync(migrations).flatMap((file) => /^(\d+_.+)\.ts$/.exec(file)?.[1] ?? [])
}
