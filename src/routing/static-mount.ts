import type { Middleware } from '../context.js'
import type { HostPattern } from './host.js'

/** A folder of static files, mounted at a path. */
export interface StaticMount {
  prefix: string
  /** An absolute path. */
  folder: string
  /** Its virtual host. */
  host?: HostPattern | undefined
  /** The number of routes declared before it. These routes take precedence over its files. */
  order: number
  /** The middleware that runs before a file is sent. */
  middleware?: readonly Middleware[]
}

/** Whether a mount contains a path. */
export function containsPath(mount: Pick<StaticMount, 'prefix'>, path: string): boolean {
  return mount.prefix === '/' || path === mount.prefix || path.startsWith(`${mount.prefix}/`)
}
