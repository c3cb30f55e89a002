import { unknownUrl } from './database-url.js'
import type { Engine } from './engine.js'
import { mariadb } from './mariadb.js'
import { postgres } from './postgres/engine.js'
import { sqlite } from './sqlite/engine.js'

/** All engines. */
export const ENGINES: readonly Engine[] = [sqlite, postgres, mariadb]

const BY_SCHEME: Record<string, Engine> = { sqlite, postgres, postgresql: postgres, mysql: mariadb, mariadb }

const BY_TYPE: Record<string, Engine> = { 'better-sqlite3': sqlite, postgres, mysql: mariadb, mariadb }

/**
 * Returns the engine of a URL.
 *
 * @throws DeclarationError when no engine supports its scheme
 */
export function engineForUrl(url: string): Engine {
  const engine = BY_SCHEME[url.slice(0, url.indexOf(':'))]
  if (!engine) throw unknownUrl(url)
  return engine
}

/** Returns the engine of a database. */
export function engineOf({ options: { type } }: { options: { type: string } }): Engine {
  const engine = BY_TYPE[type]
  if (!engine) throw new Error(`TypeORM's type "${type}" has no engine.`)
  return engine
}
